"""Small bugs for tests/mutations/run.py.

Each is a row (WHERE, text, text instead, why it is wrong, tests that should catch it). WHERE is the name of the
function, kernel, macro, struct or table in whose definition the text occurs once; run.py finds it anywhere
under templates/ or in merbit_dist.h (anchors.py says which names there are). FILE:path names a file under
templates/, for what lies between definitions. The text has no comments, and its white space stands for any: it
may be broken or indented in the sources as it likes. Tests are regular expressions of CTest names; the first
that fails ends the search. A mutation that no test can tell from the original is no mutation: it does not
belong here."""

import table_blocks
import table_dist
import table_epilogues
import table_forms
import table_host
import table_kernels
import table_solve

MUTATIONS = table_kernels.MUTATIONS + table_blocks.MUTATIONS + table_forms.MUTATIONS + table_host.MUTATIONS
MUTATIONS += table_solve.MUTATIONS + table_epilogues.MUTATIONS + table_dist.MUTATIONS
GPU_MUTATIONS = table_host.GPU_MUTATIONS
