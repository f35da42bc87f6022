// The macros that every product kernel of a plan takes, from a list of arguments that begins
// with name, value, offset, base, ones, device. No include guard.
// `ones` is 0 for values as they are, 1 for a pattern of ones, and from 2 on one more than
// MBK_STORED: one value that all have, floats, halves, a table, one for each row, one for each
// column, bfloat16s, conjugates.
#define MBK_STORED (SIMT_ARG(4, SIMT_FORM) > 0 ? SIMT_ARG(4, SIMT_FORM) - 1 : 0)
#define MBK_VALUE csr_stored<SIMT_ARG(1, SIMT_FORM), MBK_STORED>
#define MBK_VECTOR SIMT_ARG(1, SIMT_FORM)
#define MBK_COMPUTE SIMT_ARG(1, SIMT_FORM)
#define MBK_ROW_PTR SIMT_GLUE(mbk_i, SIMT_ARG(2, SIMT_FORM))
#define MBK_BASE SIMT_ARG(3, SIMT_FORM)
#define MBK_PATTERN                                                                            \
  (SIMT_ARG(4, SIMT_FORM) == 1 || SIMT_ARG(4, SIMT_FORM) == 2 ||                               \
   (SIMT_ARG(4, SIMT_FORM) > 5 && SIMT_ARG(4, SIMT_FORM) < 8))
#define MBK_SCALARS_DEVICE SIMT_ARG(5, SIMT_FORM)
#ifdef SIMT_SEMIRING // number of the semiring; default: plus-times
#define MBK_SEMIRING SIMT_SEMIRING
#else
#define MBK_SEMIRING 0
#endif
#define SIMT_CSR_FORM                                                                          \
  {                                                                                            \
    SIMT_TEXT(SIMT_ARG(0, SIMT_FORM)), sizeof(MBK_COMPUTE), sizeof(MBK_ROW_PTR), MBK_BASE,     \
        MBK_PATTERN, MBK_SCALARS_DEVICE, MBK_STORED, SIMT_SCALE, MBK_SEMIRING,                 \
        csr_zero(MBK_ZERO)                                                                     \
  }
#undef SIMT_SCALE
#if MBK_STORED == 6
#define SIMT_SCALE SIMT_KERNEL(mbk_values_scale)
#else
#define SIMT_SCALE simt_kernel()
#endif
