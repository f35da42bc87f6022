/* Compiles the library as MSVC would, using clang for Windows. Included before a source, it
 * includes the system's headers, which need GNU C here, and then hides GNU C from the rest. It
 * does not find code that clang accepts and MSVC refuses. */
#ifndef TEST_LIKE_MSVC_H
#define TEST_LIKE_MSVC_H
#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>
/* windows.h comes first. */
#include <aclapi.h>
#include <direct.h>
#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <inttypes.h>
#include <io.h>
#include <limits.h>
#include <math.h>
#include <process.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#define __INTRIN_H /* only for MSVC; windows.h has declared its contents */
#undef __GNUC__
#define _MSC_VER 1930
#endif
