"""Bugs in AUTO's forecasts of parts that differ and of empty rows, and in ties of methods. See table.py."""

from groups import CHOOSE

MUTATIONS = [
    ("mbi_nonempty_take_parts", "end > begin[0] ? end - begin[0] : 1", "end - begin[0]", "a part within one row has no rows", "spmv_choose_phases"),
    ("mbi_nonempty_take_parts", "nonempty->sectors += (double)found[p] / nonzeros;", "nonempty->sectors = (double)found[p] / nonzeros;", "only the last part's sectors count",
     "spmv_choose_phases"),
    ("mbi_phases_overlap", "!plan->nonempty.sampled_parts", "0", "parts that were not sampled are told apart", "spmv_choose_phases"),
    ("mbi_phases_few", "2 * plan->nonempty.parts[p].rows <= mean &&", "", "slices of short rows have small blocks", "spmv_choose_phases"),
    ("mbi_phases_few", "mbi_phases_like(plan, p) * lanes / threads < places", "1", "rows that fill the GPU have small blocks", "spmv_choose_phases"),
    ("mbi_phases_few", "found >= MBI_NONEMPTY_PARTS / 8", "found > 0", "a sixteenth of the nonzeros decides on blocks", "spmv_choose_phases"),
    ("mbi_sliced_threads", "mbi_phases_few(plan, 1, 256) ? 64 :", "", "long rows that lie together have large blocks", "spmv_choose_phases"),
    ("mbi_phases_count", "(double)plan->device.nnz < held * count", "0", "parts that overlap are told apart", "spmv_choose_phases"),
    ("mbi_phases_thin", "each * all / blocks", "1", "a few more blocks on some multiprocessors take no time", "spmv_choose_phases"),
    ("mbi_phases_thin", "* (1 + w->half / flight)", "", "few nonzeros in flight gather at the full rate", "spmv_choose_phases"),
    ("mbi_phases_like", "parts[p].rows <= 2 * parts[part].rows", "p == part", "each part of long rows is alone on the GPU", "spmv_choose_phases"),
    ("mbi_phases_steps", "w->fits &&", "", "slices with long rows take longer", "spmv_choose_phases"),
    ("mbi_phases_steps", "length > w->at_once", "1", "short rows take less than a step", "spmv_choose_phases"),
    ("mbi_phases_overlap", "streams += steps * share;", "streams += share;", "long rows stream in many steps for nothing", "spmv_choose_phases"),
    ("mbi_phases_overlap", "/\n                mbi_phases_steps(walkers, nnz / rows);", ";", "lanes chosen for long rows seem too few for them",
     "spmv_choose_phases"),
    ("mbi_phases_share", "!plan->nonempty.sampled_parts", "0", "parts that were not sampled have shares", "spmv_choose_phases"),
    ("mbi_hubs_thin", "(1 + MBI_CHOOSE_HALF / flight) /", "1.0 /", "one block per multiprocessor gathers at the full rate", CHOOSE),
    ("mbi_rows_sparse", "5 * plan->nonempty.count <= 3 * plan->device.rows", "5 * plan->nonempty.count < 3 * plan->device.rows", "exactly two of five empty rows are too few",
     "spmv_gpu_rows"),
    ("mbi_rows_sparse", "mbi_choose_small(plan) &&", "", "empty rows of large matrices give their lanes to others", "spmv_gpu_rows"),
    ("mbi_rows_spread", "mbi_rows_fill(plan, 2 * lanes) > MBI_ROWS_SPARSE_FILL", "0", "empty rows get any number of lanes", "spmv_gpu_rows"),
    ("mbi_rows_sparse_idle", "found > 0 ? 0 : gathers", "0", "SCAN seems not to gather if nothing was sampled", "spmv_choose_small"),
    ("mbi_rows_sparse_idle", "(1 + 2 * steps)", "3", "long rows take one step", "spmv_choose_small"),
    ("mbi_choose_tie", "? 1.02", "? 1", "other methods are taken for large matrices whose slices take as long", "spmv_choose_ties"),
    ("mbi_choose_tie", ">= 12", ">= 0", "SLICED is taken for small matrices whose rows take as long", "spmv_choose_ties"),
]
