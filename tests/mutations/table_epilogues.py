"""Bugs of epilogues. See table.py."""

from groups import EPILOGUE

MUTATIONS = [
    ("spmv/epilogue.cuh", "      *ticket = 0;\n", "", "nobody comes last of the next product", EPILOGUE),
    ("spmv/epilogue.cuh", "== count - 1;", "== count;", "nobody comes last", EPILOGUE),
    ("spmv/epilogue.cuh", "of_groups, groups, threads", "of_groups, groups - 1, threads",
     "the last group of blocks is not added up", EPILOGUE),
    ("spmv/epilogue.cuh", "grid - first < MBK_EPILOGUE_GROUP ? grid - first : MBK_EPILOGUE_GROUP",
     "(mbk_u32)MBK_EPILOGUE_GROUP", "the last group waits for blocks that are not there", EPILOGUE),
    ("spmv/epilogue.cuh", "i < call.left_count;", "i + 1 < call.left_count;",
     "the last block of the kernel before is forgotten", EPILOGUE),
    ("spmv/epilogue.cuh", "thread < threads / 32 ? shared", "thread + 1 < threads / 32 ? shared",
     "a block's last warp is forgotten", EPILOGUE),
    ("spmv/epilogue.cuh", "  mbk_await();\n  return *call.skip != 0;", "  return *call.skip != 0;",
     "early: whether to skip is read while it may still be written", EPILOGUE),
    ("spmv/epilogue_commit.cuh", "if (mbk_epilogue_skips(epilogue)) {", "if (false) {",
     "skipped products are done", EPILOGUE),
    ("spmv/fixup.cuh", "  MBK_FINISH(MBK_FIXUP_THREADS);\n", "", "sums of rows that cross tiles never come", EPILOGUE),
    ("spmv/scan_products.cuh", "{row_id, MBK_BESIDE(y), rank", "{row_id, y, rank",
     "the old y is taken for the first vector", EPILOGUE),
    ("spmv/epilogue_product.c.j2", "total[1] += workspace->sums[2 * i + 1];", "total[1] += workspace->sums[2 * i];",
     "the second sum is the first, on the CPU", EPILOGUE),
    ("spmv/epilogue_product.c.j2", "*skip == 0) {", "*skip != 0) {", "the CPU skips the others", EPILOGUE),
    ("spmv/epilogue.c.j2", "if (e->sums[1][0] != '\\0') {", "if (0) {", "kernels know no second sum", EPILOGUE),
    ("spmv/epilogue_product.c.j2", "call.left_count = room.left_count;", "call.left_count = 0;",
     "what the kernels before the last one added up is lost", EPILOGUE),
]
