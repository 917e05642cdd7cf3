# SPDX-License-Identifier: Apache-2.0
"""What sim/lanes/lanes.py and sim/lanes/schedule.py are made of: parse (tokens, verilated, variables), analysis
(settling, rows), emission (expression, statement)."""
