#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what `moeswitch plan` predicts of whole models with published throughput, and with the papers' claims, and
writes the comparison as a section of a page.

usage: validation_models.py [OUTPUT]

OUTPUT is docs/validation.md unless named. Its section is replaced, or put at its end.
"""
import ast
import json
import pathlib
import re
import subprocess
import sys

from results import TOOL, table
from validation import fill

PUBLISHED = "bench/published.json"
TITLE = "## Whole models"
WITHIN = 0.15
KERNELS = 0.68  # of the tool: a share that single GEMMs reach
EVEN = "--sigma 0 --locality 0"
NOT_OF_LAYERS = "head", "bubble", "gradients", "optimizer"


def plan(options, system="", routing=EVEN):
    """{system: its fastest configuration}"""
    words = f"{options} {routing} --top 1 --json - {'--system ' + system if system else ''}".split()
    done = subprocess.run([TOOL, "plan", *words], check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    return {s["system"]: {**s, "layers": layers_of(found["params"], s)} for s in found["systems"]}


def layers_of(params, step):
    """Of all micro-batches of a GPU."""
    model = params["model"]
    layers = model["layers"] + (model["predicted_layers"] if params["goal"] == "train" else 0)
    return params["batch"] / step["dp"] / step["micro_batch"] * layers / step["pp"]


def share_of(data, point):
    return data["dense"][point["dense"]]["share"] if "dense" in point else KERNELS


def product(text):
    """A sum of numbers."""
    allowed = (ast.Expression, ast.BinOp, ast.Constant, ast.Add, ast.Mult, ast.Div)
    tree = ast.parse(text, mode="eval")
    if not all(isinstance(node, allowed) for node in ast.walk(tree)):
        raise ValueError(text)
    return eval(compile(tree, PUBLISHED, "eval"))


class Point:
    """A published throughput, in tokens per second and GPU, and its prediction."""

    def __init__(self, data, point):
        self.point, self.share = point, share_of(data, point)
        self.step = self.run(point["options"])
        self.predicted = self.step["tokens_per_s_per_gpu"]
        self.error = self.error_of(self.predicted)

    def run(self, options, routing=EVEN):
        system = self.point.get("system", "unicast")
        share = "" if "--gemm-efficiency" in options else f"--gemm-efficiency {self.share}"
        return plan(f"{options} {share}", system, routing)[system]

    def error_of(self, tokens):
        return tokens / self.point["measured"] - 1

    def vary(self, options):
        """Tokens per second with other options, or another routing."""
        own = self.point["options"]
        if "--sigma" in options:
            return self.run(own, options)["tokens_per_s_per_gpu"]
        name = options.split()[0]
        return self.run(re.sub(rf"{name} \S+ ?", "", own) + " " + options)["tokens_per_s_per_gpu"]

    def layers(self):
        """Milliseconds of a layer of a micro-batch: predicted, and measured if all else takes what is predicted."""
        parts, count = self.step["part_ms"], self.step["layers"]
        others = sum(parts[p] for p in NOT_OF_LAYERS)
        measured = self.step["ms"] * self.predicted / self.point["measured"]
        return (self.step["ms"] - others) / count, (measured - others) / count

    def row(self):
        p = self.point
        return [p["name"], f"{self.share:.1%}", str(p["measured"]), f"{self.predicted:.0f}", f"{self.error:+.1%}",
                self.step["limit"]]

    def verdict(self):
        layer, measured = self.layers()
        tokens = [self.vary(options) for options in self.point.get("variants", [])]
        sums = {name: 1e3 * product(text) for name, text in self.point.get("sums", {}).items()}
        reason = self.point.get("reason", "The reason is not known.")
        return f"- {self.point['name']}, {self.error:+.1%}: " + reason.format(
            layer=layer, measured_layer=measured, tokens=tokens, errors=[self.error_of(t) for t in tokens], sums=sums)


def claim_row(claim):
    found = plan(claim["options"])
    base, parts = found[claim["over"]], found[claim["over"]]["part_ms"]
    return [claim["paper"], claim["what"], f"{claim['setup']}: {claim['system']} over {claim['over']}",
            f"{parts['moe'] / (base['ms'] - parts['bubble']):.0%}",
            f"{base['ms'] / found[claim['system']]['ms']:.2f}"]


def configurations(options, top):
    words = f"{options} --sigma 0 --locality 0 --system unicast --top {top} --json -".split()
    done = subprocess.run([TOOL, "plan", *words], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def of(s):
    return (f"TP {s['tp']}, PP {s['pp']}, VPP {s['virtual_stages']}, EP {s['ep']}, micro-batch {s['micro_batch']}, "
            f"recomputation {s['recompute']}")


def pangu(data):
    """Pangu Ultra MoE's MFU and configuration beside those of the plan."""
    point = data["pangu"]
    options = f"{point['options']} --gemm-efficiency {point['share']}"
    chosen = configurations(f"{options} {point['chosen']}", 1)["configurations"][0]
    every = configurations(options, 10000)
    best, fit = every["configurations"][0], every["configurations_tried"] - every["configurations_too_large"]
    faster = sum(s["ms"] < chosen["ms"] for s in every["configurations"])
    gpus = every["params"]["gpus"]
    peak = chosen["mfu"] / chosen["tokens_per_s_per_gpu"] * point["tokens_per_s"] / gpus / point["mfu"]
    yield "### Pangu Ultra MoE\n"
    yield fill(f"{point['source']}. The report does not state the NPU. `bench/ascend.json` has one die of an Ascend "
               f"910C in nodes of 8. The share is {point['share']:.0%}, as a dense model has over 50% MFU on Ascend "
               "(arXiv 2504.07866). Sequences have 4 096 tokens, and a step has 15 360 (assumed). Here EP counts the "
               "GPUs that share a layer's experts: with TP 8 and EP 4 these are 32. Collectives of TP use rings, as "
               "the NPUs' links have no switch that adds.") + "\n"
    yield from table([["configuration", "MFU", "error", "step, ms"],
                      ["the report's: " + of(chosen), f"{chosen['mfu']:.1%}",
                       f"{chosen['mfu'] / point['mfu'] - 1:+.1%}", f"{chosen['ms']:.0f}"],
                      ["the plan's fastest: " + of(best), f"{best['mfu']:.1%}", "", f"{best['ms']:.0f}"]])
    yield "\n" + fill(f"{faster} of {fit} configurations that fit are faster than the report's, the fastest by "
                      f"{chosen['ms'] / best['ms'] - 1:.0%}. The plan and the report agree on PP 16 and "
                      f"{'VPP 2' if best['virtual_stages'] == 2 else 'differ on VPP'}. Tokens per second cannot be "
                      f"compared: at 30.0% MFU they would need NPUs with {peak:.0%} of this peak rate.") + "\n"


def tensor(claim):
    pair = (claim["over"], claim["system"])
    base, other = (plan(f"{claim['options']} --tp-system {name}")["unicast"] for name in pair)
    parts = base["part_ms"]
    split = parts["attention"] + parts["tensor"]
    less = parts["tensor"] - other["part_ms"]["tensor"]
    yield fill(f"{claim['paper']} claims {claim['what']}, for dense models. Its workloads run on the RTL ([tensor "
               f"parallelism](design/tensor-parallel.md)), and calibrate the plan. The speed-up of {claim['system']} "
               f"over {claim['over']} is {base['ms'] / other['ms']:.2f} for {claim['setup']}. Attention with its "
               f"collectives alone is {split / (split - less):.2f} times as fast. Experts and their communication, "
               "which dense models do not have, take "
               f"{(parts['experts'] + parts['moe']) / base['ms']:.0%} of the step.")


def section(data):
    points = [Point(data, p) for p in data["points"]]
    yield TITLE + "\n"
    yield fill("This section compares published throughput with what [`moeswitch plan`](user/plan.md) predicts. No "
               "constant is fitted to a model. GEMMs reach a *share* of the peak FLOPS. In training it is the share "
               f"that a dense model reaches on the same GPU, from one source: {data['dense_source']}.") + "\n"
    yield from (f"- {name}: {dense['source']}" for name, dense in data["dense"].items())
    yield "\n" + fill(f"In inference the share is {KERNELS:.0%}, the tool's default. Experts have an even load. The "
                      "system is `unicast`. In decode it is `flashdmoe`, as DeepEP's low-latency kernels send a row "
                      f"per expert. Options and sources are in `{PUBLISHED}`. *Limit* is the part that takes most of "
                      "the predicted time. This command writes the section:") + "\n"
    yield "    bench/validation_models.py\n"
    yield from table([["model and machine", "share", "measured, tokens/s per GPU", "predicted, tokens/s per GPU",
                       "error", "limit"]] +
                     [p.row() for p in points])
    beyond = [p for p in points if abs(p.error) > WITHIN]
    yield "\n" + fill(f"{len(points) - len(beyond)} of {len(points)} predictions are within {WITHIN:.0%} of the "
                      "measurement. The others:") + "\n"
    yield from (fill(p.verdict(), "  ") for p in beyond)
    yield ""
    yield from pangu(data)
    yield "### The papers' claims for whole models\n"
    yield from table([["paper", "claims", "here", "dispatch and combine, % of the slower step without bubbles",
                       "speed-up"]] + [claim_row(c) for c in data["claims"]])
    yield "\n" + fill("Predicted communication of experts is a smaller part of a step than in the papers: DySHARP "
                      "reports 70.4% of a layer of DeepSeek-V3. The prediction includes no cost of software, and no "
                      "SMs that communication takes from compute.") + "\n"
    yield from tensor(data["tensor"])


def main():
    output = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "docs/validation.md")
    before = output.read_text().split(f"\n{TITLE}\n")[0].rstrip("\n")
    output.write_text(before + "\n\n" + "\n".join(section(json.loads(pathlib.Path(PUBLISHED).read_text()))) + "\n")


if __name__ == "__main__":
    main()
