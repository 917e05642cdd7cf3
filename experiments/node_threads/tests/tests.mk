# SPDX-License-Identifier: Apache-2.0
# The fabric with one node for all, in test-all: its reports, what the rewrite must refuse, and layers at random.
NODE_TESTS := $(addprefix $(B)/tests/system/test_node_,threads outputs)
LONG_CMDS += --command 'threads: $(PY) experiments/node_threads/tests/run.py' \
    --command 'threads-refused: $(PY) experiments/node_threads/tests/refused.py' \
    --command 'threads-area: make threads-area' \
    --command 'threads-long: $(PY) experiments/node_threads/tests/run.py --long' \
    $(foreach t,$(NODE_TESTS),--command '$(notdir $(t))-long: MW_LAYERS=120 $(t)')

# one of them alone, for tests/mutants
.PHONY: node-outputs
node-outputs: $(B)/tests/system/test_node_outputs $(call threads_so,4.8,beside)
	@$(PY) tests/runner/run.py $<
