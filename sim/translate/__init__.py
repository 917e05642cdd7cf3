# SPDX-License-Identifier: Apache-2.0
"""What sim/lanes.py and sim/schedule.py are made of: parse (tokens, verilated, variables), analysis (settling, rows), emission (expression, statement)."""
