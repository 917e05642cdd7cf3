# SPDX-License-Identifier: Apache-2.0
# The page of `moeswitch run --html`, against the JSON of the same run.
TEST_CMDS += --command 'page: $(PY) tests/page/run.py $(B)'
