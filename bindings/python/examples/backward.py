# SPDX-License-Identifier: Apache-2.0
# %% [markdown]
# A mixture-of-experts layer with its backward pass, in the shape of an autograd function. The device moves the rows in
# both directions of the layer, the experts are NumPy. Gradients dY are dispatched as the hidden values x were, and
# gradients dX are reduced in the switch as the results were. The routing, and thus every copy and every sum, is the
# same. Gate weights are applied at the experts, before combine in both passes.

# %%
import numpy as np

import moeswitch

GPUS, TOKENS, HIDDEN, INNER, EXPERTS, K = 2, 8, 16, 12, 4, 2
random = np.random.default_rng(1)


# %%
class MoE:
    """y[t] = sum over the experts e of token t: gate[t, e] * f_e(x[t]), with f_e(x) = tanh(x A_e) B_e."""

    def __init__(self, layer, a, b):
        self.layer, self.a, self.b = layer, a, b

    def _send(self, rows, idx, gate):
        """Dispatches rows, and returns what each expert has received. Waits, so the rows stay on the device."""
        self.handle = self.layer.dispatch(rows, idx, gate)
        return self.handle.wait().received()

    def forward(self, x, idx, gate):
        """x [GPUS][TOKENS][HIDDEN], idx and gate [GPUS][TOKENS][K] -> y like x; keeps what backward needs."""
        self.idx, self.gate = idx, gate
        rows = self._send(x, idx, gate)
        self.rows = {(e, gpu, token): values.astype(np.float64)
                     for e, r in enumerate(rows) for values, gpu, token in zip(r.x, r.gpu, r.token)}
        return np.array(self.handle.combine(y=[
            (np.tanh(r.x.astype(np.float64) @ self.a[e]) @ self.b[e]) * r.weight[:, None] for e, r in enumerate(rows)]))

    def backward(self, dy):
        """dy like y -> dx like x, dgate like gate, and the gradients of a and b. A row of dY may lie in another place
        than its row of x, so (expert, GPU, token) joins them."""
        da, db, dgate = np.zeros_like(self.a), np.zeros_like(self.b), np.zeros(self.gate.shape)
        parts = []
        for e, r in enumerate(self._send(dy, self.idx, self.gate)):
            g = r.x.astype(np.float64)
            x = np.array([self.rows[e, gpu, token] for gpu, token in zip(r.gpu, r.token)]).reshape(-1, HIDDEN)
            inner = np.tanh(x @ self.a[e])
            weighted = g * r.weight[:, None]
            for row, gpu, token in zip(np.sum(g * (inner @ self.b[e]), axis=1), r.gpu, r.token):
                dgate[gpu, token, self.idx[gpu, token] == e] = row  # the dot product of dY and the expert's output
            db[e] = inner.T @ weighted
            slope = (weighted @ self.b[e].T) * (1 - inner**2)
            da[e] = x.T @ slope
            parts.append(slope @ self.a[e].T)
        return np.array(self.handle.combine(y=parts)), dgate, da, db


# %% [markdown]
# The reference is a float64 model without a device. Its derivatives are central differences: one parameter moves by h
# in each direction.

# %%
def loss(x, gate, a, b, idx, dy):
    """The sum of dy * y: its gradients are those that backward(dy) returns."""
    every = np.einsum("gtei,eih->gteh", np.tanh(np.einsum("gth,ehi->gtei", x, a)), b)
    chosen = np.take_along_axis(every, idx[..., None], axis=2)
    return np.sum(dy * np.sum(gate[..., None] * chosen, axis=2))


def differences(parameters, name, others, h=1e-5):
    found = np.zeros_like(parameters[name])
    for place in np.ndindex(found.shape):
        sides = []
        for sign in (1, -1):
            moved = {n: p.copy() for n, p in parameters.items()}
            moved[name][place] += sign * h
            sides.append(loss(**moved, **others))
        found[place] = (sides[0] - sides[1]) / (2 * h)
    return found


def bf16(values):
    """The nearest numbers that bf16 has, in float64: what a device is given, so that both models get the same."""
    bits = np.asarray(values, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32).astype(np.float64)


# %%
x, dy = (bf16(random.standard_normal((GPUS, TOKENS, HIDDEN))) for _ in range(2))
idx = np.array([[random.permutation(EXPERTS)[:K] for _ in range(TOKENS)] for _ in range(GPUS)])
gate = random.uniform(0.25, 1, (GPUS, TOKENS, K)).astype(np.float32).astype(np.float64)
a = random.standard_normal((EXPERTS, HIDDEN, INNER)) / np.sqrt(HIDDEN)
b = random.standard_normal((EXPERTS, INNER, HIDDEN)) / np.sqrt(INNER)

with moeswitch.Device(gpus=GPUS, flit_bytes=8) as device:
    moe = MoE(device.dymulticast(HIDDEN, EXPERTS, K, GPUS * TOKENS), a, b)
    y = moe.forward(x.astype(np.float32), idx, gate)
    found = dict(zip(("x", "gate", "a", "b"), moe.backward(dy.astype(np.float32))))

# bf16 has 8 bits: of results and of dX, which cross the links, as much is right. The others never leave float64.
parameters = {"x": x, "gate": gate, "a": a, "b": b}
print("gradient  relative difference to finite differences")
for name, limit in (("x", 2**-7), ("gate", 1e-6), ("a", 1e-6), ("b", 1e-6)):
    want = differences(parameters, name, {"idx": idx, "dy": dy})
    far = np.linalg.norm(found[name] - want) / np.linalg.norm(want)
    print(f"{name:8}  {far:.1e}")
    assert far < limit, f"the gradient of {name} is wrong"
assert abs(np.sum(dy * y) / loss(**parameters, idx=idx, dy=dy) - 1) < 2**-5, "the results are wrong"
