// The work that the last thread of an epilogue does in test_epilogue.cpp. No include guard.
struct epilogue_after {
  double *scalars, sums[2];
  int *skip, calls;
};
MBK_CALLED void mbk_epilogue_after(void *memory, double first, double second) {
  epilogue_after *const at = (epilogue_after *)memory;
  at->sums[0] = first;
  at->sums[1] = second;
  at->calls++;
  at->scalars[0] = -7; // no block may read it any more
  *at->skip = 1;
}
