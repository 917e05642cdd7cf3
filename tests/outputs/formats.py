# SPDX-License-Identifier: Apache-2.0
"""Traces as NumPy itself writes them, in every type, order and archive: `moeswitch trace info` must find in each what
NumPy says of the same arrays. And expert counts: `moeswitch gen --counts` makes a trace that has them.

usage: formats.py BUILD; a line for what went wrong, and status 1
"""
import json
import sys

import numpy as np

from command import call, fail, scratch_folder

LAYERS, TOKENS, K, EXPERTS = 3, 40, 4, 16
ENGINE = "tokens,layers,k"


def make_ids(rng):
    """[layers, tokens, k], each expert once per token, some places empty"""
    ids = np.argsort(rng.random((LAYERS, TOKENS, EXPERTS)), axis=2)[:, :, :K].astype(np.int64)
    ids[1, 5, 2] = ids[2, 7, 0] = -1
    return ids


def facts(ids):
    """of each layer: fewest and most tokens of an expert, experts without tokens, empty places"""
    found = []
    for layer in ids:
        tokens = np.bincount(layer[layer >= 0], minlength=EXPERTS)
        found.append((tokens.min(), tokens.max(), int((tokens == 0).sum()), int((layer < 0).sum())))
    return found


def reported(build, path, words):
    out = call(build, ["trace", "info", path, *words, "--json", "-"]).stdout
    info = json.loads(out)
    keys = ("tokens_per_expert_min", "tokens_per_expert_max", "idle_experts", "empty")
    return info, [tuple(layer[k] for k in keys) for layer in info["spread"]]


def check(build, path, ids, words=("--axes", ENGINE, "--experts", str(EXPERTS)), weights="1/k"):
    info, found = reported(build, path, words)
    if (info["layers"], info["tokens"], info["k"]) != ids.shape or info["weights"] != weights:
        fail(f"{path}: {info['layers']} layers, {info['tokens']} tokens, k {info['k']}, weights {info['weights']}")
    if found != facts(ids):
        fail(f"{path}: {found} is not what NumPy says, {facts(ids)}")


def check_types(build, scratch, ids):
    engine = ids.transpose(1, 0, 2)  # [tokens, layers, k]
    for kind in ("|u1", "<u2", "<u4", "<u8", ">u2", ">u8", "|i1", "<i2", "<i4", ">i4", "<i8"):
        for order in "CF":
            path = scratch / f"{kind[1:]}{'b' if kind[0] == '>' else ''}{order}.npy"
            np.save(path, np.asarray(engine.astype(kind), order=order))
            check(build, path, ids)


def check_archives(build, scratch, ids, rng):
    engine = ids.transpose(1, 0, 2)
    weights = rng.random(engine.shape).astype(np.float32)
    bits = (weights.view(np.uint32) >> 16).astype(np.uint16)
    for save in (np.savez, np.savez_compressed):
        for name, kind in (("f2", weights.astype(np.float16)), ("f4", weights), ("f8", weights.astype(">f8")),
                           ("bf16", bits.view("V2"))):
            folder = scratch / f"{save.__name__}-{name}"
            folder.mkdir()
            save(folder / "topk.npz", topk_ids=engine.astype(np.uint8), topk_weights=kind, other=np.arange(7))
            meta = {"experts": EXPERTS, "axes": ENGINE}
            if name == "bf16":
                meta["weights_type"] = "bfloat16"
            (folder / "meta.json").write_text(json.dumps(meta))
            check(build, folder, ids, (), "trace")
            if name != "bf16":
                check(build, folder / "topk.npz", ids, weights="trace")


def check_counts(build, scratch, ids):
    """What `gen` makes of counts has these counts, in each layer."""
    rows = [np.bincount(layer[layer >= 0], minlength=EXPERTS) for layer in ids[:1]] * 2
    counts = np.array(rows) if rows[0].sum() == TOKENS * K else None
    if counts is None:
        fail("the sample of counts has empty places")
    np.save(scratch / "counts.npy", counts.astype(np.float32))
    np.savetxt(scratch / "counts.csv", counts, delimiter=",", fmt="%d", header="tokens of each expert")
    for name in ("counts.npy", "counts.csv"):
        folder = scratch / f"of-{name}"
        call(build, ["gen", folder, "--counts", scratch / name, "--tokens", str(TOKENS), "--k", str(K)])
        made = np.load(folder / "topk_ids.npy").astype(int)
        for layer, right in zip(made, counts, strict=True):
            if (np.bincount(layer.ravel(), minlength=EXPERTS) != right).any():
                fail(f"{folder}: other counts than those of {name}")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    build = sys.argv[1]
    scratch = scratch_folder(build, "formats")
    rng = np.random.default_rng(1)
    ids = make_ids(rng)
    check_types(build, scratch, ids)
    check_archives(build, scratch, ids, rng)
    check_counts(build, scratch, ids)


if __name__ == "__main__":
    main()
