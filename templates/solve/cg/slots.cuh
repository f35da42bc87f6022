// Slots of vectors and scalars of the conjugate gradient method, for the CPU and the GPU.

#define MBI_CG_R 4
#define MBI_CG_P 5
#define MBI_CG_Z 6 // MBI_PRE_SEPARATE only
// For the fused kernel only, which adds several alpha p to x in one pass. The p of earlier
// iterations lie from MBI_CG_OLD_P on, the latest first, and the next p replaces the oldest.
// After a pass that completes x, the next p goes to MBI_CG_ROUND_P, the memory that holds p
// when a group of iterations begins.
#define MBI_CG_OLD_P 7
#define MBI_CG_RING 4 // number of slots of p
#define MBI_CG_OLDEST_P (MBI_CG_OLD_P + MBI_CG_RING - 2)
#define MBI_CG_ROUND_P (MBI_CG_OLD_P + MBI_CG_RING - 1)

#define MBI_CG_RZ 0     // scalars: r'z
#define MBI_CG_RZ_OLD 1 // r'z of the previous iteration
#define MBI_CG_ALPHA 2  // followed by the alphas of the previous MBI_CG_RING - 1 iterations
