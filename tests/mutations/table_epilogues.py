"""Bugs of epilogues. See table.py."""

from groups import EPILOGUE

MUTATIONS = [
    ("mbk_epilogue_last", "*ticket = 0;", "", "nobody comes last of the next product", EPILOGUE),
    ("mbk_epilogue_rows", "mbk_await();", "", "early: what the product before writes is read", "simt_epilogue"),
    ("mbi_epilogue_cuda", "stream, &arguments, 0, MBI_LAUNCH_DEPENDENT)", "stream, &arguments, 0, MBI_LAUNCH_PLAIN)",
     "epilogues wait for all before them", "fake_versions"),
    ("mbk_epilogue_last", "== mbk_grid() - 1;", "== mbk_grid();", "nobody comes last", EPILOGUE),
    ("mbk_epilogue_finish", "if (mbk_thread() == 0) {", "{", "every thread of the last block goes on", EPILOGUE),
    ("mbk_epilogue_finish", "i < mbk_grid(); i +=", "i + 1 < mbk_grid(); i +=", "the last block is not added up",
     EPILOGUE),
    ("mbk_epilogue_block", "thread < MBK_EPILOGUE_THREADS / 32", "thread + 1 < MBK_EPILOGUE_THREADS / 32",
     "a block's last warp is forgotten", EPILOGUE),
    ("mbk_epilogue_rows", "&& *a.call.skip != 0) {", "&& false) {", "skipped epilogues are done", EPILOGUE),
    ("mbk_epilogue_rows", "a.aligned != 0 && count == MBK_EPILOGUE_PACK", "a.aligned != 0",
     "the last pack is read beyond the rows", EPILOGUE),
    ("mbk_epilogue_rows", "a.aligned != 0 && count == MBK_EPILOGUE_PACK", "count == MBK_EPILOGUE_PACK",
     "packs are read off 16 bytes", EPILOGUE),
    ("mbk_epilogue_rows", "MBK_EPILOGUE_HAS(k) && (mbk_u32)j < count", "MBK_EPILOGUE_HAS(k)",
     "rows beyond the last are added up", EPILOGUE),
    ("mbk_epilogue_rows", "if (MBK_EPILOGUE_WRITES && !whole &&", "if (MBK_EPILOGUE_WRITES && false &&",
     "the rows of a part of a pack have no result", EPILOGUE),
    ("mbi_epilogue_cpu", "total[1] += workspace->sums[2 * i + 1];", "total[1] += workspace->sums[2 * i];",
     "the second sum is the first, on the CPU", EPILOGUE),
    ("mbi_spmv_epilogue", "*skip == 0) {", "*skip != 0) {", "the CPU skips the others", EPILOGUE),
    ("mbi_epilogue_preamble", "if (e->sums[1][0] != '\\0') {", "if (0) {", "kernels know no second sum", EPILOGUE),
    ("mbi_epilogue_cuda", "const int kept = skip != NULL &&", "const int kept = skip == NULL &&",
     "a skipped product writes y", EPILOGUE),
    ("mbi_epilogue_cuda", "aligned = places % 16 == 0;", "aligned = 1;", "vectors anywhere are read by packs",
     EPILOGUE),
]
