"""Bugs of epilogues. See table.py."""

from groups import EPILOGUE

MUTATIONS = [
    ("spmv/shared/epilogue.cu", "      *ticket = 0;\n", "", "nobody comes last of the next product", EPILOGUE),
    ("spmv/shared/epilogue.cu", "  mbk_await();\n", "", "early: what the product before writes is read", "simt_epilogue"),
    ("spmv/plan/epilogue_product.c", "stream, arguments, MBI_LAUNCH_DEPENDENT)", "stream, arguments, MBI_LAUNCH_PLAIN)",
     "epilogues wait for all before them", "fake_versions"),
    ("spmv/shared/epilogue.cu", "== mbk_grid() - 1;", "== mbk_grid();", "nobody comes last", EPILOGUE),
    ("spmv/shared/epilogue.cu", "  if (mbk_thread() == 0) {\n    mbk_epilogue_after", "  {\n    mbk_epilogue_after",
     "every thread of the last block goes on", EPILOGUE),
    ("spmv/shared/epilogue.cu", "i < mbk_grid(); i +=", "i + 1 < mbk_grid(); i +=", "the last block is not added up", EPILOGUE),
    ("spmv/shared/epilogue.cu", "thread < MBK_EPILOGUE_THREADS / 32\n", "thread + 1 < MBK_EPILOGUE_THREADS / 32\n",
     "a block's last warp is forgotten", EPILOGUE),
    ("spmv/shared/epilogue.cu", " && *call.skip != 0) {", " && false) {", "skipped epilogues are done", EPILOGUE),
    ("spmv/shared/epilogue.cu", "aligned != 0 && count == MBK_EPILOGUE_PACK", "aligned != 0",
     "the last pack is read beyond the rows", EPILOGUE),
    ("spmv/shared/epilogue.cu", "aligned != 0 && count == MBK_EPILOGUE_PACK", "count == MBK_EPILOGUE_PACK",
     "packs are read off 16 bytes", EPILOGUE),
    ("spmv/shared/epilogue.cu", "MBK_EPILOGUE_HAS(k) && (mbk_u32)j < count", "MBK_EPILOGUE_HAS(k)",
     "rows beyond the last are added up", EPILOGUE),
    ("spmv/shared/epilogue.cu", "if (MBK_EPILOGUE_WRITES && !whole &&", "if (MBK_EPILOGUE_WRITES && false &&",
     "the rows of a part of a pack have no result", EPILOGUE),
    ("spmv/plan/epilogue_product.c", "total[1] += workspace->sums[2 * i + 1];", "total[1] += workspace->sums[2 * i];",
     "the second sum is the first, on the CPU", EPILOGUE),
    ("spmv/plan/epilogue_product.c", "*skip == 0) {", "*skip != 0) {", "the CPU skips the others", EPILOGUE),
    ("spmv/shared/epilogue.c", "if (e->sums[1][0] != '\\0') {", "if (0) {", "kernels know no second sum", EPILOGUE),
    ("spmv/plan/epilogue_product.c", "const int kept = skip != NULL &&", "const int kept = skip == NULL &&",
     "a skipped product writes y", EPILOGUE),
    ("spmv/plan/epilogue_product.c", "aligned = places % 16 == 0;", "aligned = 1;", "vectors anywhere are read by packs", EPILOGUE),
]
