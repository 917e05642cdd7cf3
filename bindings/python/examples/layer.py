# SPDX-License-Identifier: Apache-2.0
# %% [markdown]
# What a token's experts cost the links. The more of them are on other GPUs, the more rows a home's links would carry if
# each went alone; with the switch's multicast a row leaves its home once, whatever k is, and comes back summed up once.

# %%
import sys

import numpy as np

import moeswitch

GPUS, TOKENS, HIDDEN, EXPERTS = int(sys.argv[1]) if len(sys.argv) > 1 else 2, 32, 64, 16
random = np.random.default_rng(1)
device = moeswitch.Device(gpus=GPUS, flit_bytes=8)
print(f"{GPUS} GPUs, simulated by {device.simulation()['backend']}")


# %%
def layer(k):
    """Cycles and payload bytes on the uplinks of a layer with k experts per token, whose result is checked; and the
    bytes if each row went to each expert elsewhere, and came back, by itself."""
    x = random.integers(-8, 8, (GPUS, TOKENS, HIDDEN)).astype(np.float32)
    idx = np.array([[random.permutation(EXPERTS)[:k] for _ in range(TOKENS)] for _ in range(GPUS)])
    weights = np.full((GPUS, TOKENS, k), 1 / k)
    handle = device.dymulticast(HIDDEN, EXPERTS, k, GPUS * TOKENS).dispatch(x, idx, weights)
    out = handle.combine()
    assert np.array_equal(out, x)  # the experts multiply by 1, so the weighted sum is the token itself
    ports = device.counters()["port"]
    remote = np.count_nonzero(idx * GPUS // EXPERTS != np.arange(GPUS)[:, None, None])
    return handle.cycles, sum(p["up_payload"] for p in ports), 2 * remote * 2 * HIDDEN


# %%
print(" k  cycles  bytes up  if each row went by itself")
for k in (1, 2, 4, 8):
    cycles, up, alone = layer(k)
    print(f"{k:2}  {cycles:6}  {up:8}  {alone:26}")

# %%
device.close()
