/* The implementation needs GNU C: vector types, atomic operations, 128-bit integers. The
 * declarations need no more than C99 or C++11. */
#ifndef __GNUC__
#error "merbit's implementation needs gcc, clang or a compiler that is compatible with them"
#endif
/* The implementation needs GNU/POSIX declarations, so it must come before any system header. */
#if defined(_FEATURES_H) && !defined(__USE_GNU)
#error "include merbit.h before any system header where it is implemented, or use -D_GNU_SOURCE"
#endif
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
