#ifndef MBI_OS_CUDA_H
#define MBI_OS_CUDA_H
/* The names of CUDA's libraries, and MBI_NVRTC_PLACES, the directories to search for NVRTC.
 * Each is a pair: an environment variable or NULL, and a shell pattern to append to its value.
 * pip's wheels have it in nvidia/cuda_nvrtc for CUDA 11 and 12, in nvidia/cu13 for 13. */

#ifdef _WIN32
#define MBI_CUDA_DRIVER "nvcuda.dll"
#define MBI_NVRTC_11 "nvrtc64_112_0.dll" /* CUDA 11.2 to 11.8 */
#define MBI_NVRTC_MAJOR "nvrtc64_%d0_0.dll"
#define MBI_NVRTC_ANY "nvrtc64.dll"
#define MBI_NVRTC_PLACES                                                                       \
  {"CUDA_PATH", "/bin/x64"}, {"CUDA_PATH", "/bin"},                                            \
      {"VIRTUAL_ENV", "/Lib/site-packages/nvidia/cu13/bin/x86_64"},                            \
      {"VIRTUAL_ENV", "/Lib/site-packages/nvidia/cuda_nvrtc/bin"},
#else
#define MBI_CUDA_DRIVER "libcuda.so.1"
#define MBI_NVRTC_11 "libnvrtc.so.11.2"
#define MBI_NVRTC_MAJOR "libnvrtc.so.%d"
#define MBI_NVRTC_ANY "libnvrtc.so"
#ifdef __aarch64__
#define MBI_CUDA_TARGET "/targets/sbsa-linux/lib"
#else
#define MBI_CUDA_TARGET "/targets/x86_64-linux/lib"
#endif
#define MBI_NVRTC_PLACES                                                                       \
  {"CUDA_HOME", "/lib64"}, {"CUDA_HOME", MBI_CUDA_TARGET}, {"CUDA_PATH", "/lib64"},            \
      {"CUDA_PATH", MBI_CUDA_TARGET}, {NULL, "/usr/local/cuda/lib64"},                         \
      {"VIRTUAL_ENV", "/lib/python3*/site-packages/nvidia/cu*/lib"},                           \
      {"HOME", "/.local/lib/python3*/site-packages/nvidia/cu*/lib"},                           \
      {NULL, "/usr/local/lib/python3*/dist-packages/nvidia/cu*/lib"},                          \
      {NULL, "/usr/local/lib/python3*/site-packages/nvidia/cu*/lib"},                          \
      {NULL, "/usr/lib/python3*/dist-packages/nvidia/cu*/lib"},                                \
      {NULL, "/usr/lib/python3*/site-packages/nvidia/cu*/lib"},
#endif

#endif
