# SPDX-License-Identifier: Apache-2.0
# what carry.py of flow/ecp5 makes of a netlist is the same circuit
TEST_CMDS += --command 'synth: $(PY) tests/synth/run.py'
# boards: PLL, pins, crossings between clocks, refusals
TEST_CMDS += --command 'boards: $(PY) tests/synth/boards.py $(B)'
# placements become legal, and the check finds each broken rule
TEST_CMDS += --command 'legalize: $(PY) tests/synth/legalize.py $(B)/legalize'
