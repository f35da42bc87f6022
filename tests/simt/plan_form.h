// The macros that every product kernel of a plan takes, from a list of arguments that begins
// with name, value, offset, base, ones, device. No include guard.
#define MBK_VALUE SIMT_ARG(1, SIMT_FORM)
#define MBK_VECTOR MBK_VALUE
#define MBK_COMPUTE MBK_VALUE
#define MBK_ROW_PTR SIMT_GLUE(mbk_i, SIMT_ARG(2, SIMT_FORM))
#define MBK_BASE SIMT_ARG(3, SIMT_FORM)
#define MBK_PATTERN SIMT_ARG(4, SIMT_FORM)
#define MBK_SCALARS_DEVICE SIMT_ARG(5, SIMT_FORM)
#define SIMT_CSR_FORM                                                                          \
  {                                                                                            \
    SIMT_TEXT(SIMT_ARG(0, SIMT_FORM)), sizeof(MBK_VALUE), sizeof(MBK_ROW_PTR), MBK_BASE,       \
        MBK_PATTERN, MBK_SCALARS_DEVICE                                                        \
  }
