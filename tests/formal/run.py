#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves properties of the RTL, and shows for each proof that it finds a planted fault.

usage: run.py [--long | --all] [--jobs N] [--only NAME] [--keep] [--trace]

proofs.toml lists the proofs. Fields of a [[proof]]:
  name      module prove_NAME of NAME.sv, in a folder of proofs, is the top (`harness` names another)
  modules   RTL modules of which something is proved; what: what, in words, for docs/reference/verification.md
  models    modules of models/ that stand for those of the RTL
  engine    "pdr" (default): ABC proves it without bound. "induction": ABC proves that no cycle is the first in which
            an assertion fails, given that all hold in the `steps` before it: without bound, too, for assertions that
            tell how everything inside hangs together; else it looks for a counterexample of up to `depth` cycles.
            "bmc": ABC looks for a counterexample of up to `depth` cycles. "z3": sby and z3 do
  params    list of parameter sets of the top, each proved; default: the top's own
  long_params  further parameter sets, which only `make formal-long` proves
  bug       {file, find, replace, params}: text of the RTL or of the proof (there exactly once) whose
            replacement the proof must find; a list for several, of which `make formal` plants the first, and
            `make formal-long` the others
  abc       ABC commands before the engine, as "orpos; ": all assertions together, which is faster where
            they help each other
  pdr       options of ABC's pdr, as "-m": one solver for all frames, which is faster where they are alike
  long      true: only `make formal-long` runs it
  threads   {top, file}: a module of which experiments/node_threads/rewrite makes one with N threads, TOP_threads,
            before anything is read; N and what else is a parameter of the module (`params` of it) are those of the
            proof. A bug may be one of that tool
  cover     cycles within which every cover is reached, and the condition of every assumption, default 24: what shows
            that the assumptions leave something to prove
  contracts true: proves the assertions at the end of its modules, too (rtl/common/assert.svh)
  start     of a "bmc" proof: the first cycle in which the module is given something, that of the cover c_start;
            its depth counts from there

Everything is made below build/formal; the log of what failed stays there, in NAME.log. Yosys reads the sources from
the repository's root, a planted fault from its own folder, which comes first. --trace also has sby write a VCD of what
failed. table.py prints docs/reference/verification.md. What has passed is not run again until a file that it reads, its
entry, or a tool's version changes (tests/runner/remember.py). Exit status 1 when a proof fails or a fault is not found.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import sys
import threading
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/runner"))
import remember
import watch
HERE = pathlib.Path("tests/formal")
WORK = pathlib.Path("build/formal")
RTL_DIRS = sorted({str(f.parent.relative_to(ROOT)) for d in ("common", "link", "switch", "hub", "gpu", "fabric")
                   for f in (ROOT / "rtl" / d).rglob("*.sv")})
PACKAGES = ["build/gen/error_pkg.sv", "build/gen/packet_pkg.sv", "build/gen/isa_pkg.sv", "build/gen/map_pkg.sv",
            "rtl/common/numbers/fp_pkg.sv", "rtl/common/numbers/red_pkg.sv", "rtl/common/node_pkg.sv",
            "rtl/common/bundle_pkg.sv", "rtl/common/cfg_pkg.sv", "rtl/common/ring_pkg.sv"]
INCLUDE = "rtl/common"
YOSYS = (sys.executable, "flow/yosys/yosys.py")
TOOL = "experiments/node_threads/rewrite"
INCLUDED = [f"{INCLUDE}/bundles.svh", f"{INCLUDE}/assert.svh"]
# seconds of processor time without a result, of short and of long ones
SEARCH_S = {False: 1200, True: 7200}
UNBOUNDED = ("pdr", "induction")
LOCK = threading.Lock()

# from a design to an AIGER file with one output per assertion; assumptions are constraints. SAT takes a large design as
# quickly when Yosys has not merged what is equal, which takes it longer than the search; the unbounded engines need it.
DESIGN = ("prep -top {top}; flatten; async2sync; chformal -lower; memory_map; formalff -clk2ff -ff2anyinit; dffunmap; "
          "setundef -anyseq; delete -output; ")
AIGER = ("{opt}; techmap; setundef -anyseq; opt_clean; aigmap; opt_clean; select -write {aig}.names t:$assert; "
         "write_aiger -zinit {aig}; ")
# the same with one output per cover and assumption
COVERS = f"delete t:$assert; chtype -set assumed t:$assume; rename -src t:assumed; techmap -map {HERE}/covers.v; "


class Failure(Exception):
    """A proof could not be run at all: an error of the sources, or of a tool."""


def proofs():
    return tomllib.loads((ROOT / HERE / "proofs.toml").read_text())["proof"]


def top_of(proof):
    return f"prove_{proof.get('harness', proof['name'])}"


def harness_of(proof):
    """The file of a proof's top, in one of the folders of proofs."""
    name = proof.get("harness", proof["name"])
    found = list((ROOT / HERE / "proofs").rglob(f"{name}.sv"))
    if len(found) != 1:
        raise Failure(f"{HERE}/proofs has {len(found)} files {name}.sv, must be one")
    return str(found[0].relative_to(ROOT))


def plant(bug, folder):
    """Writes the faulty copy of bug's file and returns the folder that must be searched first."""
    text = (ROOT / bug["file"]).read_text()
    if text.count(bug["find"]) != 1:
        raise Failure(f"the text to replace is in {bug['file']} {text.count(bug['find'])} times, must be once")
    src = folder / "src"
    src.mkdir(parents=True, exist_ok=True)
    (src / pathlib.Path(bug["file"]).name).write_text(text.replace(bug["find"], bug["replace"]))
    return src


def rewrite(proof, params, folder, bug, log, most):
    """Has experiments/node_threads/rewrite make the module with threads, by its faulty copy if there is one.
    Returns its Verilog file."""
    t = proof["threads"]
    path = [str(ROOT / TOOL)]
    if bug and bug["file"].startswith(f"{TOOL}/"):
        path.insert(0, str(ROOT / plant(bug, folder)))
    options = [o for k in t.get("params", []) for o in ("--param", f"{k}={params[k]}")]
    argv = [sys.executable, "-m", "rewrite", "--top", t["top"], "--threads", str(params["N"]), "--out", str(folder),
            *options, t["file"]]
    if command(argv, log, most, {"PYTHONPATH": ":".join(path)}) != 0:
        raise Failure(f"{TOOL} does not take it")
    return folder / f"{t['top']}_threads.v"


def read_command(proof, params, folder, bug):
    """The read_slang command line: models and a planted fault are found before the RTL's own modules."""
    harness = harness_of(proof)
    dirs, packages = [], PACKAGES
    if bug:
        src = plant(bug, folder)
        dirs.append(src)
        packages = [str(src / pathlib.Path(p).name) if p == bug["file"] else p for p in PACKAGES]
        if bug["file"] == harness:
            harness = src / pathlib.Path(harness).name
    models = folder / "models"
    models.mkdir(parents=True, exist_ok=True)
    for m in proof.get("models", []):
        if not (bug and pathlib.Path(bug["file"]).stem == m):
            shutil.copy(ROOT / HERE / "models" / f"{m}.sv", models / f"{pathlib.Path(m).name}.sv")
    dirs += [models, HERE / "props", *RTL_DIRS]
    options = " ".join(f"-y {d}" for d in dirs) + "".join(f" -G {k}={v}" for k, v in params.items())
    made = f" {folder}/{proof['threads']['top']}_threads.v" if "threads" in proof else ""
    contracts = " -DMW_CONTRACTS" if proof.get("contracts") else ""
    return (f"read_slang --threads 1 -DSYNTHESIS -DFORMAL{contracts} -I {INCLUDE} {options} {' '.join(packages)}{made} "
            f"{harness} --top {top_of(proof)}")


def command(argv, log, most, env=None):
    with open(log, "a") as out:
        out.write(f"\n$ {' '.join(map(str, argv))}\n")
        out.flush()
        status, why = watch.to_file(argv, out, watch.Limits(most=most), cwd=ROOT, env=environment() | (env or {}))
    if why:
        raise Failure(f"no result: {why}")
    return status


def environment():
    """Where sby finds Yosys under the names that it knows."""
    path = f"{ROOT / WORK / 'bin'}:{ROOT / 'build/venv/bin'}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path}


def by_abc(proof, params, folder, bug, log, most):
    aig, covers = folder / "proof.aig", folder / "covers.aig"
    opt = "opt_clean" if proof.get("engine") == "bmc" else "opt -full"
    script = f"{read_command(proof, params, folder, bug)}; {DESIGN.format(top=top_of(proof))}"
    if not bug:
        script += f"design -save read; {COVERS}{AIGER.format(aig=covers, opt=opt)}design -load read; "
    script += f"delete t:$cover; {AIGER.format(aig=aig, opt=opt)}"
    if command([*YOSYS, "-q", "-p", script], log, most) != 0 or not aig.exists():
        raise Failure("Yosys does not read it")
    if not bug:
        reach_covers(proof, covers, log, most)

    def abc(how):
        begin = log.stat().st_size
        command(["berkeley-abc", "-c", f"read_aiger {aig}; fold; {proof.get('abc', '')}{how}"], log, most)
        return log.read_text()[begin:]

    kind = proof.get("engine", "pdr")
    if kind == "induction":
        base = f"bmc3 -F {proof['steps'] + 1}"   # the step assumes as many cycles
        if ("Networks are equivalent" in abc(f"orpos; ind -F {proof['steps'] + 1}")
            and "No output asserted" in abc(base)):
            return True
    out = abc(f"pdr {proof.get('pdr', '')}" if kind == "pdr" else f"bmc3 -F {proof['depth']}")
    if kind == "induction" and "No output asserted" in out:
        raise Failure(f"not inductive, and no counterexample of {proof['depth']} cycles")
    if "Property proved" in out or re.search(r"No output asserted in \d+ frames", out):
        return True
    found = re.search(r"Output (\d+) of miter .* was asserted in frame (\d+)", out)
    if found:
        names = (pathlib.Path(f"{aig}.names").read_text().split() if "orpos" not in proof.get("abc", "")
                 else ["an assertion"])
        with open(log, "a") as f:
            f.write(f"\n{names[int(found[1])]} does not hold in cycle {found[2]}\n")
        return False
    raise Failure("ABC gives no answer")


def reach_covers(proof, aig, log, most):
    """Fails unless ABC reaches all covers, c_start in the cycle in which the proof says that it starts."""
    names = pathlib.Path(f"{aig}.names").read_text().split()
    depth = proof.get("cover", 24)
    begin = log.stat().st_size
    command(["berkeley-abc", "-c", f"read_aiger {aig}; fold; bmc3 -a -x -F {depth}"], log, most)
    reached = {names[int(output)]: int(cycle)
               for output, cycle in re.findall(r"Output\s+(\d+) was asserted in frame\s+(\d+)",
                                               log.read_text()[begin:])}
    with open(log, "a") as f:
        f.write("\n" + "".join(f"cover {n}: {'cycle ' + str(reached[n]) if n in reached else 'not reached'}\n"
                               for n in names))
    missed = [n for n in names if n not in reached]
    if missed:
        raise Failure(f"in {depth} cycles not reached: {' '.join(missed)}")
    if "start" in proof and reached.get(f"{top_of(proof)}/c_start") != proof["start"]:
        raise Failure(f"c_start is reached in cycle {reached.get(f'{top_of(proof)}/c_start')}, not {proof['start']}")


def by_z3(proof, params, folder, bug, log, most):
    depth = proof.get("depth", 20)
    sby = folder / "proof.sby"
    sby.write_text(f"[options]\nmode bmc\ndepth {depth}\n[engines]\nsmtbmc z3\n[script]\n"
                   f"read_rtlil proof.il\n[files]\n{folder}/proof.il\n")
    script = f"{read_command(proof, params, folder, bug)}; prep -top {top_of(proof)}; write_rtlil {folder}/proof.il"
    if command([*YOSYS, "-q", "-p", script], log, most) != 0:
        raise Failure("Yosys does not read it")
    status = command(["yowasp-sby", "-f", "-d", str(folder / "sby"), str(sby)], log, most)
    if status not in (0, 2):
        raise Failure(f"sby ends with {status}")
    return status == 0


def check(proof, params, bug, name, most, trace):
    """True when all assertions hold."""
    folder = WORK / name
    shutil.rmtree(ROOT / folder, ignore_errors=True)
    (ROOT / folder).mkdir(parents=True)
    log = ROOT / WORK / f"{name}.log"
    log.write_text("")
    if "threads" in proof:
        rewrite(proof, params, folder, bug, log, most)
    engine = by_z3 if proof.get("engine") == "z3" else by_abc
    holds = engine(proof, params, folder, bug, log, most)
    if not holds and trace:
        by_z3(proof | {"depth": proof.get("depth", 40)}, params, folder, bug, log, most)
    return holds


def bugs_of(proof):
    b = proof.get("bug", [])
    return b if isinstance(b, list) else [b]


def jobs_of(proof, short=True, long=True):
    """(name, parameters, bug or None) of every run of a proof: those of `make formal`, those of
    `make formal-long`, or both."""
    label = lambda p: "".join(f"-{k}{v}" for k, v in p.items())
    of_both = ([(proof["name"] + label(p), p, None) for p in proof.get(field, default)]
               for field, default in (("params", [{}]), ("long_params", [])))
    sets, long_sets = of_both
    bugs = [(f"{proof['name']}-bug{i if i else ''}", b.get("params", {}), b) for i, b in enumerate(bugs_of(proof))]
    first, others = (sets + bugs[:1], long_sets + bugs[1:]) if not proof.get("long") else ([], sets + long_sets + bugs)
    return first * short + others * long


def sources(proof):
    """The files that a proof reads: its harness, and those of the modules and properties that have an instance
    there or in one of these."""
    models = [f"{HERE}/models/{m}.sv" for m in proof.get("models", [])]
    tool = sorted(map(str, pathlib.Path(TOOL).glob("*.py"))) if "threads" in proof else []
    found = {}
    for folder in [HERE / "props", *map(pathlib.Path, reversed(RTL_DIRS))]:
        found.update({f.stem: str(f) for f in folder.glob("*.sv")})
    found.update({pathlib.Path(m).stem: m for m in models})
    todo = [harness_of(proof), *models, *PACKAGES, *INCLUDED]
    read = set(tool)
    while todo:
        f = todo.pop()
        if f not in read:
            read.add(f)
            code = re.sub(r"//[^\n]*", "", pathlib.Path(f).read_text())
            todo += [found[w] for w in set(re.findall(r"\b(\w+)\s+(?:#\s*\(|\w+(?:\s*\[[^\]]*\])?\s*\()", code))
                     if w in found]
    return read


def key_of(proof, params, bug):
    """The hash of a run: what it reads, and how it is run."""
    how = {k: v for k, v in proof.items() if k not in ("bug", "what", "params", "long_params", "modules")}
    return remember.hash_of("formal", [*sources(proof), "tests/formal/run.py", "tests/formal/covers.v"],
                            [repr(how), repr(params), repr(bug)])


def run(job, args):
    proof, (name, params, bug) = job
    key = key_of(proof, params, bug)
    if not args.trace and not args.keep and remember.recall(key) is not None:
        with LOCK:
            print(f"ok     {name}: as when it passed", flush=True)
        return True
    start = time.monotonic()
    try:
        holds = check(proof, params, bug, name, SEARCH_S[bool(proof.get("long"))], args.trace)
        ok, text = (not holds, "not found") if bug else (holds, "has a counterexample")
    except Failure as e:
        ok, text = False, str(e)
    bound = "without bound" if proof.get("engine", "pdr") in UNBOUNDED else f"up to {proof.get('depth', 20)} cycles"
    with LOCK:
        print(f"{'ok    ' if ok else 'FAILED'} {name}: {('fault found' if bug else 'proved ' + bound) if ok else text} "
              f"({time.monotonic() - start:.1f} s)", flush=True)
        if not ok:
            print(f"       {last_line(WORK / f'{name}.log')}; see {WORK / name}.log", flush=True)
    if ok:
        remember.keep(key, name)
    if ok and not args.keep and not args.trace:
        shutil.rmtree(ROOT / WORK / name, ignore_errors=True)
        (ROOT / WORK / f"{name}.log").unlink()
    return ok


def last_line(log):
    lines = log.read_text().strip().splitlines() if log.exists() else []
    return lines[-1] if lines else "nothing was run"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--long", action="store_true", help="only the long ones")
    p.add_argument("--all", action="store_true", help="short and long ones")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--only", default="", metavar="NAME", help="only proofs whose name begins so")
    p.add_argument("--trace", action="store_true")
    p.add_argument("--keep", action="store_true", help="keep all files")
    args = p.parse_args()
    os.chdir(ROOT)
    tools = ROOT / WORK / "bin"
    tools.mkdir(parents=True, exist_ok=True)
    for tool in ("yosys", "yosys-smtbmc", "yosys-witness"):
        (tools / tool).write_text(f'#!/bin/sh\nexec yowasp-{tool} "$@"\n')
        (tools / tool).chmod(0o755)
    whole = bool(args.all or args.only)
    jobs = [(q, j) for q in proofs() if q["name"].startswith(args.only)
            for j in jobs_of(q, whole or not args.long, whole or args.long)]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        results = list(pool.map(lambda j: run(j, args), jobs))
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    sys.exit(0 if results and all(results) else 1)


if __name__ == "__main__":
    main()
