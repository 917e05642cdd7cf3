#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures every system on the same layers and writes the figures beside those of the papers, as a page.

usage: results.py [--traces DIR] [--layers NAME:L,L ...] [--gpus N,N] [--tokens T] [OUTPUT]

OUTPUT is docs/reference/results.md unless named. --traces: the folder with the traces of LAYERS, or with those that
--layers names; without it a layer is synthetic.
What was measured is kept in build/results, by the command, the tool and the models of as many GPUs, and not measured
again.
"""
import argparse
import hashlib
import json
import math
import pathlib
import re
import subprocess
import sys
import textwrap

TOOL = "build/moeswitch"
LAYERS = [("deepseek-v2-lite-intent", (3, 7, 20)), ("gpt-oss-20b-mmlu", (3, 7, 12))]
SYNTHETIC = [(None, (0,))]
KEPT = pathlib.Path("build/results")


def measure(options):
    """The report of a run, or of the same run before."""
    gpus = re.search(r"--gpus (\d+)", options)[1]
    models = sorted(p.stat().st_mtime_ns for p in pathlib.Path("build/model").glob(f"n{gpus}f16*/libmwsim.so"))
    tool = pathlib.Path(TOOL).stat().st_mtime_ns
    file = KEPT / (hashlib.sha256(f"{options} {tool} {models}".encode()).hexdigest()[:16] + ".json")
    if not file.exists():
        print("+", TOOL, "run", options, file=sys.stderr, flush=True)
        KEPT.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(".part")
        done = subprocess.run([TOOL, "run", *options.split(), "--json", str(part)], stdout=subprocess.DEVNULL)
        if done.returncode:
            sys.exit(done.returncode)  # the tool has said why
        part.rename(file)
    return json.loads(file.read_text())


def geomean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


class Layer:
    """One layer under every system, without costs of software and with those of the papers."""

    def __init__(self, name, number, gpus, options):
        self.name, self.number, self.gpus, self.options = name, number, gpus, options
        self.costs = {c: measure(f"{options} --gpus {gpus} --system all --costs {c}") for c in ("none", "papers")}
        self.free = {s["system"]: s for s in self.costs["none"]["systems"]}
        self.paid = {s["system"]: s for s in self.costs["papers"]["systems"]}

    def cycles(self, system, paid=False):
        return (self.paid if paid else self.free)[system]["cycles"]

    def alone_with(self, system, settings, paid, gpus=None):
        """Cycles of one system, with settings or on another number of GPUs."""
        costs = "papers" if paid else "none"
        return measure(f"{self.options} --gpus {gpus or self.gpus} --system {system} --costs {costs} "
                       f"{settings}".rstrip())["systems"][0]["cycles"]

    def payload(self, system):
        s = self.free[system]
        return s["up"]["payload_bytes_mean"] + s["down"]["payload_bytes_mean"]

    def share(self, system):
        """Of the longest of links, adder, engine and banks."""
        s = self.free[system]
        return sum(layer["limit"]["cycles"] for layer in s["layers"]) / s["cycles"]

    def alone(self, system, paid):
        """Share of the time that the layer would take if communication took none."""
        s = (self.paid if paid else self.free)[system]
        return sum(layer["engine"]["cycles"] for layer in s["layers"]) / s["cycles"]


def faster(system, over):
    """How many times faster `system` is than `over`: of a layer."""
    return lambda layer, paid: layer.cycles(over, paid) / layer.cycles(system, paid)


def moved(system, over):
    return lambda layer, _: layer.payload(system) / layer.payload(over)


def without(system, settings, having=""):
    """How many times longer a layer takes with the first settings than with the second."""
    return lambda layer, paid: layer.alone_with(system, settings, paid) / layer.alone_with(system, having, paid)


def efficiency(system):
    """How much of the time of two GPUs a layer of as many tokens per GPU takes on more."""
    return lambda layer, paid: layer.alone_with(system, "", paid, gpus=2) / layer.cycles(system, paid)


def payload_efficiency(system):
    """Bytes of rows, of all that links carry."""
    return lambda layer, _: layer.payload(system) / sum(layer.free[system][d]["wire_bytes_mean"]
                                                        for d in ("up", "down"))


# paper, what it states, its figure, ours: systems and the ratio, and why they differ or agree
CLAIMS = [
    ("DySHARP", "MoE layer over DeepEP", "2.26 (geomean), 2.77 at most", ("dysharp", "unicast"),
     faster("dysharp", "unicast"),
     "theirs trains layers of 8 to 32 experts a token on 32 GPUs, where a token goes to more GPUs and multicast and "
     "reduction save more"),
    ("DySHARP", "MoE layer over NVLS (all-gather, reduce-scatter)", "4.25, 6.93 at most", ("dysharp", "nvls"),
     faster("dysharp", "nvls"),
     "what all GPUs get grows with N and what they need does not: fewer GPUs, less to gain"),
    ("DySHARP", "MoE layer over COMET", "1.78, 1.94 at most", ("dysharp", "overlap"), faster("dysharp", "overlap"),
     "both overlap all they can; what is left is traffic, which again grows with the GPUs of a token"),
    ("DySHARP", "traffic, of DeepEP's", "about 0.5", ("dysharp", "unicast"), moved("dysharp", "unicast"),
     "1/2 + 1/(2 d) of the bytes where a token goes to d other GPUs"),
    ("DySHARP", "the primitive alone, phase after phase, over DeepEP", "no direct gain", ("dysharp-basic", "unicast"),
     faster("dysharp-basic", "unicast"),
     "each phase leaves the direction that it relieves idle: reproduced"),
    ("DySHARP", "fusion alone over DeepEP", "no better than COMET", ("overlap", "unicast"),
     faster("overlap", "unicast"),
     "overlap without less traffic: what fusion alone can give"),
    ("DySHARP", "NVLS' traffic, of DeepEP's", "more; 340 % of it useless at 32 GPUs", ("nvls", "unicast"),
     moved("nvls", "unicast"),
     "more bytes where N is above 1.92 d: by how much depends on the trace and grows with N"),
    ("MoE-Hub", "MoE layer over COMET", "1.40", ("moe-hub", "overlap"), faster("moe-hub", "overlap"),
     "theirs has k = 2, where k rows are hardly more than d; here k is 4 to 6, and a row goes once for each expert"),
    ("MoE-Hub", "its packet manager, where producers store 32 bytes at a time", "1.13, up to the end of the first GEMM",
     ("moe-hub",),
     without("moe-hub", "--set scatter=3", "--set scatter=3 --set packet_manager=1"),
     "small stores spend a third of a link on headers; rows stored whole need no merging"),
    ("MoE-Hub", "its trackers, over barriers", "1.14, up to the end of the first GEMM", ("moe-hub",),
     without("moe-hub", "--set tracker=0"),
     "ours counts the whole layer, whose combine waits for a barrier, too"),
    ("MoE-Hub", "its allocator, over addresses that software makes from counts", "no figure of its own", ("moe-hub",),
     without("moe-hub", "--set allocator=0"),
     "counts cross as fast as links are: the software's time is what is saved, of which a layer of this size "
     "has little"),
    ("FlashDMoE", "MoE layer over Megatron's with Transformer Engine, 8 GPUs", "6.4 at most", ("flashdmoe", "unicast"),
     faster("flashdmoe", "unicast"),
     "theirs is against kernels that the host launches one by one around an AllToAll of all GPUs; `unicast` waits "
     "between phases, too, but for nothing else"),
    ("FlashDMoE", "traffic, of a baseline that pads", "less: tokens that are routed alone", ("flashdmoe", "unicast"),
     moved("flashdmoe", "unicast"),
     "no system here sends padding; rows go once for each expert, not once for each GPU"),
    ("FlashDMoE", "payload efficiency", "only routed tokens travel", ("flashdmoe",), payload_efficiency("flashdmoe"),
     "the rest are headers, of 1 flit in front of at most 8, signals and counts"),
]
# the same, of layers of traces: these runs are on two GPUs, too
EFFICIENCIES = [
    ("FlashDMoE", "overlap efficiency T(2) / T(N)", "up to 3.88 (4 GPUs) and 4 times (8) that of others",
     ("flashdmoe",), efficiency("flashdmoe"),
     "with more GPUs more of the rows leave theirs, and the busiest link is further from the mean: of links, not "
     "of overlap"),
    ("FlashDMoE", "the same of a system of phases", "the others", ("unicast",), efficiency("unicast"),
     "phases wait for links, too, but here not for launches"),
]


def table(rows):
    head, *rest = rows
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rest:
        yield "| " + " | ".join(row) + " |"


def spread(values):
    values = list(values)
    text = f"{geomean(values):.2f}"
    return text if len(values) == 1 else f"{text} ({min(values):.2f} to {max(values):.2f})"


def systems_page(layers, gpus):
    names = list(layers[0].free)
    yield f"## {gpus} GPUs, system by system"
    yield ("*cycles*: without costs of software, in brackets with those of the papers. *bytes*: on a link, both "
           "directions, over")
    yield ("those of `unicast`. *of its limit*: share of the longest of links, adders, engines and banks. *of free "
           "communication*:")
    yield "share of the time that the layer takes if communication is free."
    yield ""
    for layer in layers:
        paid = layer.costs["papers"]["params"]["settings"]
        costs = ", ".join(f"{k[:-7]} {v}" for k, v in paid.items())
        remote = layer.costs["none"]["workload"][0]["remote_gpus_per_token"]
        yield from textwrap.wrap(f"**{layer.name}, layer {layer.number}** (d = {remote:.2f}, papers' costs: {costs})",
                                 120)
        yield ""
        yield from table([["system", "cycles", "over unicast", "bytes", "of its limit", "of free communication"]] + [
            [f"`{s}`", f"{layer.cycles(s)} ({layer.cycles(s, True)})",
             f"{faster(s, 'unicast')(layer, False):.2f} ({faster(s, 'unicast')(layer, True):.2f})",
             f"{moved(s, 'unicast')(layer, False):.2f}", f"{layer.share(s):.1%}",
             f"{layer.alone(s, False):.1%} ({layer.alone(s, True):.1%})"]
            for s in names])
        yield ""


def claims_page(claims, by_gpus):
    rows = [["paper", "what", "its figure", "ours", *(f"N = {n}{c}" for n in by_gpus for c in ("", ", costs")), "why"]]
    for paper, what, figure, systems, ratio, why in claims:
        if any(s not in layer.free for layers in by_gpus.values() for layer in layers for s in systems):
            continue
        cells = [spread(ratio(layer, paid) for layer in layers) for layers in by_gpus.values()
                 for paid in (False, True)]
        rows.append([paper, what, figure, " / ".join(f"`{s}`" for s in systems), *cells, why])
    return table(rows)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--traces", metavar="DIR")
    p.add_argument("--layers", nargs="+", metavar="NAME:L,L")
    p.add_argument("--gpus", default="8,16", metavar="N,N")
    p.add_argument("--tokens", type=int, default=512, metavar="T")
    p.add_argument("output", nargs="?", default="docs/reference/results.md")
    a = p.parse_args()
    layers = LAYERS
    if a.layers:
        named = (text.split(":") for text in a.layers)
        layers = [(name, [int(n) for n in numbers.split(",")]) for name, numbers in named]
    by_gpus = {}
    for n in map(int, a.gpus.split(",")):
        by_gpus[n] = []
        for name, numbers in layers if a.traces else SYNTHETIC:
            trace = f"--trace {a.traces}/{name} --repeat-tokens" if name else ""
            for number in numbers:
                options = f"{trace} --layer {number} --tokens-per-gpu {a.tokens} --hidden 512 --tile 16"
                by_gpus[n].append(Layer(name or "synthetic", number, n, options.strip()))
    command = " ".join(["bench/results.py", *(sys.argv[1:])])
    page = ["# Results, beside those of the papers", "",
            f"Layers have {a.tokens} tokens per GPU, hidden 512, tile 16 and 16-byte flits. Every output bit and every "
            "flit count of each run",
            "was right. [systems.md](../design/systems.md) describes each system, its differences from the "
            "paper, and the",
            "[costs of software](../design/systems.md#costs-of-software). This command writes the page:",
            "", f"    {command}", "",
            *(["The repository does not contain the traces: [record one](../user/traces.md#where-a-trace-comes-from). "
               "Without",
               "`--traces` a layer is synthetic.", ""] if a.traces else []),
            "## Claims",
            "The table shows speed-ups, or shares of the bytes: the geometric mean over the layers, and their range. "
            "*costs*: with those of",
            "the papers. The papers' baselines are programs on real or simulated GPUs. Ours are instruction streams "
            "without a wasted",
            "cycle. A mechanism's gain over them is therefore its gain on the fabric alone.", "",
            *claims_page(CLAIMS + (EFFICIENCIES if a.traces else []), by_gpus), ""]
    for n, layers in by_gpus.items():
        page += systems_page(layers, n)
    pathlib.Path(a.output).write_text("\n".join(page))


if __name__ == "__main__":
    main()
