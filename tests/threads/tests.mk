# SPDX-License-Identifier: Apache-2.0
# The fabric with one node for all: its reports, what the rewrite must refuse, and, at length, layers at random.
TEST_CMDS += --command 'threads: $(PY) tests/threads/run.py' --command 'threads-refused: $(PY) tests/threads/refused.py'
LONG_CMDS += --command 'threads-long: $(PY) tests/threads/run.py --long' --command 'node_threads-long: MW_LAYERS=120 $(B)/tests/system/test_node_threads'
