// Macros that pick an element of a list of macro arguments. SIMT_FORM, a specialisation of a
// kernel, is such a list.
#ifndef SIMT_ARGUMENTS_H
#define SIMT_ARGUMENTS_H
#define SIMT_ARG(n, ...) SIMT_ARG##n(__VA_ARGS__, )
#define SIMT_ARG0(a, ...) a
#define SIMT_ARG1(a, b, ...) b
#define SIMT_ARG2(a, b, c, ...) c
#define SIMT_ARG3(a, b, c, d, ...) d
#define SIMT_ARG4(a, b, c, d, e, ...) e
#define SIMT_ARG5(a, b, c, d, e, f, ...) f
#define SIMT_ARG6(a, b, c, d, e, f, g, ...) g
#define SIMT_ARG7(a, b, c, d, e, f, g, h, ...) h
#define SIMT_ARG8(a, b, c, d, e, f, g, h, i, ...) i
#define SIMT_ARG9(a, b, c, d, e, f, g, h, i, j, ...) j
#define SIMT_ARG10(a, b, c, d, e, f, g, h, i, j, k, ...) k
#define SIMT_ARG11(a, b, c, d, e, f, g, h, i, j, k, l, ...) l
#define SIMT_ARG12(a, b, c, d, e, f, g, h, i, j, k, l, m, ...) m
#define SIMT_ARG13(a, b, c, d, e, f, g, h, i, j, k, l, m, n, ...) n
#define SIMT_ARG14(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, ...) o
#define SIMT_ARG15(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, ...) p
#define SIMT_ARG16(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, ...) q
#define SIMT_GLUE(a, b) SIMT_GLUE_(a, b)
#define SIMT_GLUE_(a, b) a##b
#define SIMT_TEXT(x) SIMT_TEXT_(x)
#define SIMT_TEXT_(x) #x
#endif // SIMT_ARGUMENTS_H
