# SPDX-License-Identifier: Apache-2.0
"""The command `moeswitch plan` as a function."""
import json
import os
import subprocess

TOOL = "moeswitch"


def _words(options):
    """Options as words of a command line: gemm_type="fp8" is --gemm-type fp8. True is an option without a value; None
    and False are none. Those without a value come last: one that needs a value then takes no other option for it."""
    words, alone = [], []
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            alone.append(option)
        elif value is not None and value is not False:
            words += [option, ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)]
    return words + alone


def plan(model, hardware, **options):
    """Time of a step of a whole model on a machine, under each system, for every way to share it that fits.

    model: the name of a preset, or the path of a config.json of Hugging Face. hardware: the name of a preset, or the
    path of a JSON file. options: those of `moeswitch plan` with _ for -, such as goal="decode", gpus=64, batch=4096,
    overlap_batches=True, system=["unicast", "dysharp"].

    Returns what `--json` writes as a dict: "params", "assumptions", "systems" (the fastest configuration of each) and
    "configurations" (the fastest of all, the first is the best). Times are in milliseconds, memory in GB (10^9 bytes).
    "extrapolated" is true where communication of experts or of tensor parallelism is beyond the calibrated ranges.

    The tool is `moeswitch` on the PATH, or the file that MOESWITCH_TOOL names. ValueError: bad input, or no
    configuration fits, with the tool's line. OSError: the tool is missing or failed.
    """
    for name in ("help", "json"):
        if name in options:
            raise ValueError(f"{name}: no option of this function, which returns what --json writes")
    tool = os.environ.get("MOESWITCH_TOOL") or TOOL
    command = [tool, "plan", *_words({"model": model, "hardware": hardware, "json": "-", **options})]
    done = subprocess.run(command, capture_output=True, text=True)
    message = done.stderr.strip().removeprefix("moeswitch: ")
    if done.returncode == 2:
        raise ValueError(message)
    if done.returncode:
        raise OSError(f"{tool}: exit status {done.returncode}: {message}")
    return json.loads(done.stdout)
