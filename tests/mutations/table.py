"""Small bugs for tests/mutations/run.py.

Each is a row (WHERE, text, replacement, why it is wrong, tests that should catch it). WHERE is the name of the
function, kernel, macro, struct or table in whose definition the text occurs once; run.py finds it under
templates/ or in merbit_dist.h (anchors.py describes the names). FILE:path names a file under templates/, for
text between definitions. The text has no comments, and its white space matches any, so that the sources may be
reformatted. Tests are regular expressions of CTest names; the first that fails ends the search. A change that
no test can distinguish from the original is not a mutation and does not belong here."""

import table_blocks
import table_choice
import table_dist
import table_epilogues
import table_forms
import table_host
import table_kernels
import table_reduction
import table_solve

MUTATIONS = table_kernels.MUTATIONS + table_blocks.MUTATIONS + table_forms.MUTATIONS + table_host.MUTATIONS
MUTATIONS += table_solve.MUTATIONS + table_epilogues.MUTATIONS + table_dist.MUTATIONS + table_choice.MUTATIONS
MUTATIONS += table_reduction.MUTATIONS
GPU_MUTATIONS = table_host.GPU_MUTATIONS
