# SPDX-License-Identifier: Apache-2.0
# %% [markdown]
# Mixture-of-experts layers with their backward pass, in the shape of autograd functions. The device moves the rows in
# both directions of the layer. Gradients dY take the routes of the hidden values x, as in DeepEP: dispatch() gets the
# handle of the forward pass, and the device counts, exchanges and allocates nothing again. Gradients dX are reduced in
# the switch as the results were. Gate weights are applied at the experts, before combine in both passes.

# %%
import numpy as np

import moeswitch

GPUS, TOKENS, HIDDEN, INNER, EXPERTS, K = 2, 8, 16, 12, 4, 2
random = np.random.default_rng(1)


# %%
class MoE:
    """y[t] = sum over the experts e of token t: gate[t, e] * f_e(x[t]), with f_e(x) = tanh(x A_e) B_e in NumPy."""

    def __init__(self, layer, a, b):
        self.layer, self.a, self.b = layer, a, b

    def forward(self, x, idx, gate):
        """x [GPUS][TOKENS][HIDDEN], idx and gate [GPUS][TOKENS][K] -> y like x; keeps what backward needs."""
        self.handle = self.layer.dispatch(x, idx, gate).wait()
        self.idx, self.rows = idx, self.handle.received()
        return np.array(self.handle.combine(y=[
            (np.tanh(r.x.astype(np.float64) @ a) @ b) * r.weight[:, None]
            for r, a, b in zip(self.rows, self.a, self.b)]))

    def backward(self, dy):
        """dy like y -> dx like x, dgate like gate, and the gradients of a and b. An expert's rows of dY lie in the
        order of its rows of x."""
        cached = self.layer.dispatch(dy, handle=self.handle).wait()
        da, db, dgate = np.zeros_like(self.a), np.zeros_like(self.b), np.zeros(self.idx.shape)
        parts = []
        for e, (r, of_dy) in enumerate(zip(self.rows, cached.received())):
            x, g = r.x.astype(np.float64), of_dy.x.astype(np.float64)
            inner = np.tanh(x @ self.a[e])
            weighted = g * r.weight[:, None]
            for row, gpu, token in zip(np.sum(g * (inner @ self.b[e]), axis=1), r.gpu, r.token):
                dgate[gpu, token, self.idx[gpu, token] == e] = row  # the dot product of dY and the expert's output
            db[e] = inner.T @ weighted
            slope = (weighted @ self.b[e].T) * (1 - inner**2)
            da[e] = x.T @ slope
            parts.append(slope @ self.a[e].T)
        return np.array(cached.combine(y=parts)), dgate, da, db


# %%
class Scaled:
    """The same with the device's own experts, f_e(x) = c_e x, which make dX and the gradients of the gate weights."""

    def __init__(self, layer, c):
        self.layer, self.c = layer, c

    def forward(self, x, idx, gate):
        self.handle = self.layer.prepare(x, idx, gate, self.c)
        return np.array(self.handle.run())

    def backward(self, dy):
        cached = self.handle.cached(dy)
        return np.array(cached.run()), np.array(cached.gradients())


# %% [markdown]
# The reference is a float64 model without a device. Its derivatives are central differences: one parameter moves by h
# in each direction.

# %%
def loss(x, gate, idx, dy, experts):
    """The sum of dy * y: its gradients are those that backward(dy) returns. `experts`: values of every expert."""
    chosen = np.take_along_axis(experts(x), idx[..., None], axis=2)
    return np.sum(dy * np.sum(gate[..., None] * chosen, axis=2))


def tanh_loss(x, gate, idx, dy, a, b):
    return loss(x, gate, idx, dy, lambda v: np.einsum(
        "gtei,eih->gteh", np.tanh(np.einsum("gth,ehi->gtei", v, a)), b))


def scaled_loss(x, gate, idx, dy, c):
    return loss(x, gate, idx, dy, lambda v: np.einsum("gth,e->gteh", v, c))


def differences(function, parameters, name, h=1e-5):
    found = np.zeros_like(parameters[name])
    for place in np.ndindex(found.shape):
        sides = []
        for sign in (1, -1):
            moved = {n: p.copy() for n, p in parameters.items()}
            moved[name][place] += sign * h
            sides.append(function(**moved))
        found[place] = (sides[0] - sides[1]) / (2 * h)
    return found


def compare(title, function, parameters, y, found):
    """Relative differences of the gradients `found`, {name: (gradient, limit)}, to central differences."""
    print(title)
    for name, (gradient, limit) in found.items():
        want = differences(function, parameters, name)
        far = np.linalg.norm(gradient - want) / np.linalg.norm(want)
        print(f"  {name:8}  {far:.1e}")
        assert far < limit, f"the gradient of {name} is wrong"
    assert abs(np.sum(parameters["dy"] * y) / function(**parameters) - 1) < 2**-5, "the results are wrong"


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
c = bf16(random.uniform(0.5, 1.5, EXPERTS))
given = {"x": x, "gate": gate, "idx": idx, "dy": dy}
print("gradient  relative difference to finite differences")

# bf16 has 8 bits: of results and of dX, which cross the links, as much is right. The others never leave float64.
with moeswitch.Device(gpus=GPUS, flit_bytes=8) as device:
    moe = MoE(device.dymulticast(HIDDEN, EXPERTS, K, GPUS * TOKENS, cached_handles=True), a, b)
    y = moe.forward(x.astype(np.float32), idx, gate)
    dx, dgate, da, db = moe.backward(dy.astype(np.float32))
    compare("NumPy's experts", tanh_loss, given | {"a": a, "b": b}, y,
            {"x": (dx, 2**-7), "gate": (dgate, 1e-6), "a": (da, 1e-6), "b": (db, 1e-6)})

    # the device rounds c_e x to bf16 before it multiplies it by dY
    moe = Scaled(device.dymulticast(HIDDEN, EXPERTS, K, GPUS * TOKENS, cached_handles=True, gate_gradients=True), c)
    y = moe.forward(x.astype(np.float32), idx, gate)
    dx, dgate = moe.backward(dy.astype(np.float32))
    compare("the device's experts", scaled_loss, given | {"c": c}, y, {"x": (dx, 2**-7), "gate": (dgate, 2**-8)})
