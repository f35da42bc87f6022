"""Small bugs for tests/mutations/run.py: (file under templates/, text that occurs there once, text instead, why
it is wrong, tests that should catch it). Tests are regular expressions of CTest names; the first that fails
ends the search. A mutation that no test can tell from the original is no mutation: it does not belong here."""

import table_blocks
import table_epilogues
import table_forms
import table_host
import table_kernels

MUTATIONS = table_kernels.MUTATIONS + table_blocks.MUTATIONS + table_forms.MUTATIONS + table_host.MUTATIONS
MUTATIONS += table_epilogues.MUTATIONS
GPU_MUTATIONS = table_host.GPU_MUTATIONS
