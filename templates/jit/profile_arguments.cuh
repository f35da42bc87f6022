// Arguments of the kernels in jit/profile.cu, for host and device.
typedef struct mbk_profile_copy_arguments {
  MBK_POINTER(const mbk_u32) from;
  MBK_POINTER(mbk_u32) to;
  mbk_u64 packs;
} mbk_profile_copy_arguments;

typedef struct mbk_profile_gather_arguments {
  MBK_POINTER(const mbk_u32) x; // float or double elements
  mbk_u32 elements, count;
  MBK_POINTER(mbk_u32) sum;
} mbk_profile_gather_arguments;

typedef struct mbk_profile_chase_arguments {
  MBK_POINTER(const mbk_u32) x;
  mbk_u32 elements, steps, seed;
  MBK_POINTER(mbk_u32) end;
} mbk_profile_chase_arguments;
