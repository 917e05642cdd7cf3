# SPDX-License-Identifier: Apache-2.0
# What `moeswitch run` writes to look at, against the JSON of the same run: the page, and the timeline; and `moeswitch
# top` beside it; traces as NumPy writes them; what bench/results.py, bench/flashdmoe.py and bench/validation.py
# write; and that bench/never_slower.py holds.
TEST_CMDS += --command 'page: $(PY) tests/outputs/page.py $(B)' \
    --command 'plan page: $(PY) tests/outputs/plan_page.py $(B)' \
    --command 'formats: $(PY) tests/outputs/formats.py $(B)' \
    --command 'timeline: $(PY) tests/outputs/timeline.py $(B)' \
    --command 'results: $(PY) tests/outputs/results.py $(B)' \
    --command 'validation: $(PY) tests/outputs/validation.py $(B)' \
    --command 'never slower: $(PY) tests/outputs/never_slower.py $(B)' \
    --command 'top: $(PY) tests/outputs/top.py $(B)'
LONG_CMDS += --command 'never slower, whole grid: $(PY) bench/never_slower.py --tool $(B)/moeswitch'
