#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints docs/reference/verification.md: for each RTL module what is proved, what is simulated, what neither.

Proofs come from proofs.toml, unit tests from the tables of docs/developer/testing.md, modules from rtl/. A module that
is in neither list, or a name that is no module or proof (also in the deadlock argument of docs/design/architecture.md),
ends it with status 1.
"""
import pathlib
import re
import sys

from run import ROOT, UNBOUNDED, bugs_of, harness_of, proofs

HEAD = """# What is verified, and how

`make docs` writes this page from `tests/formal/proofs.toml`, [testing.md](../developer/testing.md) and the
files of `rtl`. If the page is not current, `make docs-check` (part of `make test`) fails.

| word | meaning |
|---|---|
| *proved* without bound | the property holds in every cycle of every run, at the sizes named. \
ABC's pdr finds an inductive invariant, or the assertions are one |
| *proved* for a number of cycles | no run of that length breaks the property, whatever the inputs. \
The run starts with the first cycle in which the module has an input |
| *simulated* | the unit tests named, with random stalls and a model of their own |

Every proof has at least one planted fault that it must find. `make formal` plants the first of each short proof, and
`make formal-long` the others. A proof also shows that its assumptions are not vacuous: the condition of each occurs,
and each of its covers is reached. With `contracts = true` it proves the [contracts](../developer/testing.md#hardware)
of its modules, too. The system tests (`tests/system`) additionally simulate the whole device, with every module,
against the golden model.

`make formal` (part of `make test`) runs the short proofs, `make formal-long` the long ones. `tests/formal/run.py
--help` describes how to run one proof and how to get a trace of a failure.
"""


def engine(p):
    how = ("without bound" if p.get("engine", "pdr") in UNBOUNDED else f"{p['depth'] - p['start']} cycles from the "
           f"first input on ({p['depth']} from reset)")
    join = lambda sets: "; ".join(", ".join(f"{k}={v}" for k, v in s.items()) for s in sets)
    sizes, long = join(p.get("params", [])), join(p.get("long_params", []))
    return how + (f", {sizes}" if sizes else "") + (f"; long: {long}" if long else "") + (" (long)" if p.get("long")
                                                                                          else "")


def harness(p):
    return (ROOT / harness_of(p)).read_text()


def simulated(modules):
    """Module -> unit tests, from the tables of docs/developer/testing.md."""
    found = {}
    for row in (ROOT / "docs/developer/testing.md").read_text().splitlines():
        cells = row.split("|")
        if len(cells) == 4:
            for m in re.findall(r"`(\w+)`", cells[2]):
                if m in modules:
                    found.setdefault(m, []).append(re.sub(r"\s*\(.*\)", "", cells[1].strip()))
    return found


def main():
    files = [*sorted((ROOT / "experiments").glob("*/*.sv")), *sorted((ROOT / "rtl").rglob("*.sv"))]
    modules = {f.stem: f for f in files if not f.stem.endswith("_pkg")}
    tests = simulated(modules)
    all_proofs = proofs()
    bad = [f"proof {p['name']}: no module {m}" for p in all_proofs for m in p["modules"] if m not in modules]
    bad += [f"proof {p['name']} has no planted fault" for p in all_proofs if not bugs_of(p)]
    bad += [f"module {m}: neither proved nor simulated" for m in modules if m not in tests
            and not any(m in p["modules"] for p in all_proofs)]
    bad += [f"proof {p['name']} is bounded, and does not say where it starts" for p in all_proofs
            if p.get("engine", "pdr") not in UNBOUNDED and "start" not in p]
    bad += [f"proof {p['name']} assumes, and covers nothing" for p in all_proofs if "assume (" in (text := harness(p))
            and "cover (" not in text]
    steps = re.findall(r"^\| (?:-|\d) \|[^|]*\|([^|]*)\|$", (ROOT / "docs/design/architecture.md").read_text(), re.M)
    bad += (["docs/design/architecture.md: the deadlock argument has no table of ten rows: step, property, proofs"]
            if len(steps) != 10 else [])
    bad += [f"docs/design/architecture.md: no proof {n}" for n in re.findall(r"`(\w+)`", " ".join(steps))
            if n not in [p["name"] for p in all_proofs]]
    if bad:
        sys.exit("\n".join(bad))

    print(HEAD)
    print("## Modules\n\n| module | proved (proof) | simulated by |\n|---|---|---|")
    for m, f in modules.items():
        names = "; ".join(f"[{p['name']}](#{p['name']})" for p in all_proofs if m in p["modules"])
        print(f"| `{f.relative_to(ROOT).with_suffix('').as_posix().removeprefix('rtl/')}` | {names or '-'} | "
              f"{', '.join(tests.get(m, [])) or 'whole device'} |")
    print("\n## Proofs\n\n| proof | what | how |\n|---|---|---|")
    for p in all_proofs:
        print(f"| <a id=\"{p['name']}\"></a>`{p['name']}` | {p['what']} | {engine(p)} |")


if __name__ == "__main__":
    main()
