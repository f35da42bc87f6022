/* Defines the macros that system headers must see, so it comes before all of them. */
#if !defined(__GNUC__) && !defined(_MSC_VER)
#error "merbit's implementation needs gcc, clang, MSVC or a compiler that is compatible with one"
#endif
#if defined(__FAST_MATH__) || defined(_M_FP_FAST) ||                                           \
    (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "merbit's implementation needs NaN and infinities: compile this file with -fno-fast-math"
#endif
#if defined(_FEATURES_H) && !defined(__USE_GNU) &&                                             \
    (defined(__GLIBC__) || !defined(_GNU_SOURCE))
#error "include merbit.h before any system header where it is implemented, or use -D_GNU_SOURCE"
#endif
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifdef _WIN32
#ifndef __USE_MINGW_ANSI_STDIO
#define __USE_MINGW_ANSI_STDIO 1
#endif
#ifndef _CRT_SECURE_NO_WARNINGS
#define _CRT_SECURE_NO_WARNINGS
#endif
#endif
