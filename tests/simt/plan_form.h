// The macros that every product kernel of a plan takes, from a list of arguments that begins
// with name, value, offset, base, ones, device. No include guard.
// `ones` is 0 for values as they are, 1 for a pattern of ones, 2 for one value that all have, 3
// for doubles that are stored as floats.
#define MBK_VALUE                                                                              \
  std::conditional_t<SIMT_ARG(4, SIMT_FORM) == 3, float, SIMT_ARG(1, SIMT_FORM)>
#define MBK_VECTOR SIMT_ARG(1, SIMT_FORM)
#define MBK_COMPUTE SIMT_ARG(1, SIMT_FORM)
#define MBK_ROW_PTR SIMT_GLUE(mbk_i, SIMT_ARG(2, SIMT_FORM))
#define MBK_BASE SIMT_ARG(3, SIMT_FORM)
#define MBK_PATTERN (SIMT_ARG(4, SIMT_FORM) == 1 || SIMT_ARG(4, SIMT_FORM) == 2)
#define MBK_EQUAL (SIMT_ARG(4, SIMT_FORM) == 2)
#define MBK_SCALARS_DEVICE SIMT_ARG(5, SIMT_FORM)
#define SIMT_CSR_FORM                                                                          \
  {                                                                                            \
    SIMT_TEXT(SIMT_ARG(0, SIMT_FORM)), sizeof(MBK_COMPUTE), sizeof(MBK_ROW_PTR), MBK_BASE,     \
        MBK_PATTERN, MBK_SCALARS_DEVICE, MBK_EQUAL, SIMT_ARG(4, SIMT_FORM) == 3                                                        \
  }
