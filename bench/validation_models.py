#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what `moeswitch plan` predicts of whole models with published throughput, and with the papers' claims, and
writes the comparison as a section of a page.

usage: validation_models.py [OUTPUT]

OUTPUT is docs/validation.md unless named. Its section is replaced, or put at its end.
"""
import json
import pathlib
import subprocess
import sys

from results import TOOL, table
from validation import fill

PUBLISHED = "bench/published.json"
TITLE = "## Whole models"
WITHIN = 0.15
KERNELS = 0.68  # of the tool: a share that single GEMMs reach
EVEN = "--sigma 0 --locality 0 --top 1 --json -"


def plan(options, system=""):
    """{system: its fastest configuration}"""
    words = f"{options} {EVEN} {'--system ' + system if system else ''}".split()
    done = subprocess.run([TOOL, "plan", *words], check=True, capture_output=True, text=True)
    return {s["system"]: s for s in json.loads(done.stdout)["systems"]}


def share_of(data, point):
    return data["dense"][point["dense"]]["share"] if "dense" in point else KERNELS


class Point:
    """A published throughput, in tokens per second and GPU, and its prediction."""

    def __init__(self, data, point):
        self.point, self.share = point, share_of(data, point)
        system = point.get("system", "unicast")
        self.step = plan(f"{point['options']} --gemm-efficiency {self.share}", system)[system]
        self.predicted = self.step["tokens_per_s_per_gpu"]
        self.error = self.predicted / point["measured"] - 1

    def row(self):
        p = self.point
        return [p["name"], f"{self.share:.1%}", str(p["measured"]), f"{self.predicted:.0f}", f"{self.error:+.1%}",
                self.step["limit"]]

    def verdict(self):
        return f"- {self.point['name']}, {self.error:+.1%}: {self.point.get('reason', 'The reason is not known.')}"


def claim_row(claim):
    found = plan(claim["options"])
    base, parts = found[claim["over"]], found[claim["over"]]["part_ms"]
    return [claim["paper"], claim["what"], f"{claim['setup']}: {claim['system']} over {claim['over']}",
            f"{parts['moe'] / (base['ms'] - parts['bubble']):.0%}",
            f"{base['ms'] / found[claim['system']]['ms']:.2f}"]


def section(data):
    points = [Point(data, p) for p in data["points"]]
    yield TITLE + "\n"
    yield fill("[`moeswitch plan`](user/plan.md) predicts published throughput. No constant is fitted to a model. In "
               "training the share of FLOPS that GEMMs reach is that of a dense model on the same GPU, from one "
               f"source: {data['dense_source']}.") + "\n"
    yield from (f"- {name}: {dense['source']}" for name, dense in data["dense"].items())
    yield "\n" + fill(f"In inference it is {KERNELS:.0%}, the tool's default. Routing is an even load. The system is "
                      "`unicast`, and in decode `flashdmoe`, as DeepEP's low-latency kernels send a row per expert. "
                      f"Options and sources are in `{PUBLISHED}`.") + "\n"
    yield from table([["model and machine", "share", "measured, tokens/s of a GPU", "predicted", "error", "limit"]] +
                     [p.row() for p in points])
    beyond = [p for p in points if abs(p.error) > WITHIN]
    yield "\n" + fill(f"{len(points) - len(beyond)} of {len(points)} are within {WITHIN:.0%}. Beyond that:") + "\n"
    yield from (fill(p.verdict(), "  ") for p in beyond)
    yield "\n" + fill("**Pangu Ultra MoE** (arXiv 2505.04519) states 30.0% MFU and TP 8, PP 16, VPP 2, EP 4. It is not "
                      "predicted: the report states no peak rate, memory or bandwidth of its NPUs. A hardware file "
                      "with these would be enough.") + "\n"
    yield "### The papers' claims for whole models\n"
    yield from table([["paper", "claims", "here", "dispatch and combine, of the slower step without bubbles",
                       "speed-up"]] + [claim_row(c) for c in data["claims"]])
    yield "\n" + fill("Here experts' communication is a smaller part of a step than in the papers: DySHARP reports "
                      "70.4% of a layer of DeepSeek-V3. The prediction has no cost of software, and no SMs that "
                      "communication takes from compute.") + "\n"
    yield fill("CAIS claims 1.38 in inference over tensor parallelism with NVLS. Its workloads run on the RTL "
                      "([tensor parallelism](design/tensor-parallel.md)). The plan has collectives of tensor "
                      "parallelism by latency and rate, for all systems alike, and so states no speed-up of CAIS.")


def main():
    output = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "docs/validation.md")
    before = output.read_text().split(f"\n{TITLE}\n")[0].rstrip("\n")
    output.write_text(before + "\n\n" + "\n".join(section(json.loads(pathlib.Path(PUBLISHED).read_text()))) + "\n")


if __name__ == "__main__":
    main()
