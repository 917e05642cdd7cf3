#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the page of `moeswitch plan --html` in a browser against the JSON of the same plan.

usage: plan_page.py BUILD    exit status 1, with a line, when something is wrong

The page has the JSON of the plan, loads no other file and writes no error to the console. Every system has its bar,
whose width is its time; every configuration its row; the timeline a block for each stage, micro-batch and direction;
each speed-up chart a line for each system. Figures of the tables are those of the JSON. What is extrapolated has its
mark. It fits wide and narrow windows.
"""
import json
import re
import sys

from browser import Browser
from command import call, fail, scratch_folder

DATA = re.compile(r'(<script type="application/json" id="data">\n)(.*?)(</script>)', re.S)
PLANS = [
    "--model deepseek-v3 --hardware hgx-h100 --gpus 1024 --gemm-type fp8 --pp 8 --top 5",
    "--model mixtral-8x7b --hardware hgx-h100 --goal decode --batch 256 --system unicast,dysharp",
]
COUNTS = """(() => {
    const count = (selector) => document.querySelectorAll(selector).length;
    const widths = [...document.querySelectorAll("#compare .compare tbody tr")].map((row) =>
        [...row.querySelectorAll("rect")].reduce((sum, r) => sum + parseFloat(r.getAttribute("width")), 0));
    const figures = [...document.querySelectorAll("[data-json]")].map((cell) => [cell.dataset.json, cell.textContent]);
    return {widths, figures, rows: count("#configurations .scroll tbody tr"), jobs: count("#step svg[role] rect"),
            gpus: count("#gpus path.line"), k: count("#k path.line"),
            wide: document.documentElement.scrollWidth > innerWidth,
            marked: [...document.querySelectorAll("#configurations .scroll tbody tr")].map((row) =>
                row.cells[0].textContent.endsWith("*")),
            notes: [...document.querySelectorAll(".extrapolated")].map((p) => p.textContent),
            charts: ["gpus", "k"].map((id) => [...document.querySelectorAll(`#${id} text`)].filter((t) =>
                t.textContent.endsWith("*")).length),
            hidden: [...document.querySelectorAll("section")].filter((s) => s.hidden).map((s) => s.id)};
})()"""


def at(root, pointer):
    for key in pointer.split("/")[1:]:
        root = root[int(key) if isinstance(root, list) else key]
    return root


def check_figures(found, root):
    for pointer, text in found["figures"]:
        value = at(root, pointer)
        plain = text.replace("\u202f", "").replace("\u2212", "-")
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            shown = float(plain.removesuffix(" %")) / (100 if plain.endswith(" %") else 1)
            if abs(shown - value) > 0.05 * max(1, abs(value)) / 10:
                fail(f"{pointer}: {text}, but {value}")
        elif plain.lower() != str(value).lower():
            fail(f"{pointer}: {text}, but {value}")


def check_marks(found, root):
    """Every line, point and table beyond the calibrated ranges has its mark, and a note names all of the quantities."""
    if found["marked"] != [s["extrapolated"] for s in root["configurations"]]:
        fail(f"marks of configurations: {found['marked']}")
    for key, count in zip(("by_gpus", "by_k"), found["charts"], strict=True):
        right = sum(one["extrapolated"] for one in root[key]) if len(root[key]) > 1 else 0
        if count != right:
            fail(f"{count} marks of {right} in the chart {key}")
    steps = root["systems"] + root["configurations"]
    reasons = {name for s in steps for name in s["extrapolated_by"].split(", ")} - {""}
    for note in found["notes"]:
        if not all(name in note for name in reasons):
            fail(f"{note}: it lacks some of {reasons}")
    if bool(found["notes"]) != bool(reasons):
        fail(f"{len(found['notes'])} notes of {len(reasons)} quantities")


def check_page(browser, path, root):
    text = path.read_text(encoding="utf-8")
    if json.loads(DATA.search(text)[2]) != root:
        fail(f"{path}: the page has another JSON than --json")
    browser.size(1280)
    browser.load(path)
    found = browser.evaluate(COUNTS)
    systems, best = root["systems"], root["configurations"][0]
    slowest = max(s["ms"] for s in systems)
    if [round(w, 1) for w in found["widths"]] != [round(100 * s["ms"] / slowest, 1) for s in systems]:
        fail(f"bars of {found['widths']} %")
    if found["rows"] != len(root["configurations"]):
        fail(f"{found['rows']} rows of {len(root['configurations'])} configurations")
    batches = root["params"]["batch"] // best["dp"] // best["micro_batch"]
    shown = min(batches, 3 * best["pp"] + 4, 64)
    if found["jobs"] != 1 + shown * best["pp"] * (2 if best["backward_ms"] else 1):
        fail(f"{found['jobs']} blocks of {shown} micro-batches in {best['pp']} stages")
    lines = {key: len(systems) if len(root[key]) > 1 else 0 for key in ("by_gpus", "by_k")}
    if (found["gpus"], found["k"]) != (lines["by_gpus"], lines["by_k"]):
        fail(f"{found['gpus']} and {found['k']} lines, not {lines}")
    check_figures(found, root)
    check_marks(found, root)
    for width in (1280, 360):
        browser.size(width)
        if browser.evaluate(COUNTS)["wide"]:
            fail(f"wider than a window of {width} pixels")
    browser.check_quiet()
    return len(found["figures"])


def main():
    build = sys.argv[1]
    scratch = scratch_folder(build, "plan_page")
    with Browser() as browser:
        for i, words in enumerate(PLANS):
            page, data = scratch / f"{i}.html", scratch / f"{i}.json"
            call(build, ["plan", *words.split(), "--html", page, "--json", data])
            figures = check_page(browser, page, json.loads(data.read_text()))
            print(f"{words}: {figures} figures")
    same = scratch / "same"
    call(build, ["plan", *PLANS[1].split(), "--html", same, "--json", same], 2)
    call(build, ["plan", *PLANS[1].split(), "--html", scratch / "no" / "x"], 2)
    if same.exists():
        fail("a file of a refused plan")


if __name__ == "__main__":
    main()
