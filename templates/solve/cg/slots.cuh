// Where the conjugate gradient method keeps its vectors and scalars, for the CPU and the GPU.

#define MBI_CG_R 4
#define MBI_CG_P 5
#define MBI_CG_Z 6 // MBI_PRE_SEPARATE only
// Sweeps only, which take x += alpha p in one pass for several p: those of the iterations
// before, the last one first; the next p goes to the place of the oldest, or behind an x that
// is complete to MBI_CG_ROUND_P, which is one of these places.
#define MBI_CG_OLD_P 7
#define MBI_CG_RING 4 // places of p
#define MBI_CG_OLDEST_P (MBI_CG_OLD_P + MBI_CG_RING - 2)
#define MBI_CG_ROUND_P (MBI_CG_OLD_P + MBI_CG_RING - 1)

#define MBI_CG_RZ 0     // scalars: r'z
#define MBI_CG_RZ_OLD 1 // of the iteration before
#define MBI_CG_ALPHA 2  // and of the MBI_CG_RING - 1 iterations before behind it
