/* The implementation needs GNU/POSIX declarations, so it must come before any system header. */
#if defined(_FEATURES_H) && !defined(__USE_GNU)
#error "include merbit.h before any system header where it is implemented, or use -D_GNU_SOURCE"
#endif
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
