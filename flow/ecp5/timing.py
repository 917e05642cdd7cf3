# SPDX-License-Identifier: Apache-2.0
"""Reads nextpnr's report of a routed design: a board's clocks, the paths to and from the pads of its bus, and the paths
between its clocks. Lists what misses the requirements of board.toml."""

SKEW_NS = 0.5  # between two outputs of one PLL, with the nets that they drive


def domain_of(b, net):
    """Which of the board's clocks nextpnr means."""
    net = net.removeprefix("$glbnet$").removesuffix("$TRELLIS_IO_IN")
    return next((d for d, (_, names) in b["nets"].items() if net in names), None)


def between_ns(mhz, a, z):
    """What a path between two clocks may take: a cycle of the faster, so that the bits of a pointer arrive in their
    order; and, as both edges come together, what is between the ways of two outputs of the PLL."""
    return 1000 / max(mhz[a], mhz[z]) - (SKEW_NS if {a, z} == {"fabric", "node"} else 0)


def path_text(path):
    ends = [s for s in path if s["type"] != "routing"]
    delay = sum(s["delay"] for s in path)
    logic = sum(s["delay"] for s in ends)
    return (f"from {path[0]['from']['cell']} to {path[-1]['to']['cell']}, {logic:.1f} ns in logic and "
            f"{delay - logic:.1f} ns in wires")


def judge(b, mhz, report):
    """(figures, [what is missed]) of a routed design: every clock, the pads of a bus, and paths between clocks, which
    take no longer than a cycle of the faster."""
    missed, figures = [], {"clocks": {}, "pads": {}, "between": {}}
    for net, f in report["fmax"].items():
        d = domain_of(b, net)
        if d is None:
            continue
        figures["clocks"][d] = {"asked_mhz": mhz[d], "reached_mhz": round(f["achieved"], 2)}
        if f["achieved"] < mhz[d]:
            path = max((p["path"] for p in report["critical_paths"] if p["from"] == p["to"]
                        and domain_of(b, p["from"].partition(" ")[2] or p["from"]) == d),
                       key=lambda p: sum(s["delay"] for s in p), default=None)
            missed.append(f"{d} reaches {f['achieved']:.1f} of {mhz[d]:.1f} MHz"
                          + (f": {path_text(path)}" if path else ""))
    for d in set(mhz) - set(figures["clocks"]):
        missed.append(f"{d}: nextpnr's report has no such clock")
    for p in report["critical_paths"]:
        a, z = ("" if e.startswith("<async>") else domain_of(b, e.partition(" ")[2]) for e in (p["from"], p["to"]))
        delay = sum(s["delay"] for s in p["path"])
        if a == z or a is None or z is None:
            continue
        if a and z:
            figures["between"][f"{a} to {z}"] = round(delay, 2)
            if delay > between_ns(mhz, a, z):
                missed.append(f"{a} to {z} takes {delay:.1f} of {between_ns(mhz, a, z):.1f} ns: {path_text(p['path'])}")
            continue
        limits = b.get("io", {}).get(a or z)
        way = "out_ns" if a else "in_ns"
        if limits:
            figures["pads"][f"{a or z} {way[:-3]}"] = {"limit_ns": limits[way], "ns": round(delay, 2)}
            if delay > limits[way]:
                missed.append(f"{a or z}: {delay:.1f} ns {'to' if a else 'from'} a pad, {limits[way]} are left: "
                              f"{path_text(p['path'])}")
    for d in b.get("io", {}):
        for way in ("in", "out"):
            if f"{d} {way}" not in figures["pads"]:
                missed.append(f"{d}: nextpnr's report has no way {way} of its pads")
    return figures, missed


def pads_mhz(b, mhz):
    """nextpnr's clock for what has none: ways to and from pads, which it then works on as on any other."""
    return round(max([*mhz.values(), *(1000 / ns for limits in b.get("io", {}).values() for ns in limits.values())]), 3)
