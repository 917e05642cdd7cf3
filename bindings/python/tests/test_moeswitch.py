# SPDX-License-Identifier: Apache-2.0
"""The binding on the simulated device: bits, types, every error, and what outlives what.

Golden results are exact: hidden values are small integers, coefficients and gate weights powers of two, so that every
product and sum is a bf16 whatever their order.
"""
import ctypes.util
import gc
import os
import signal
import subprocess
import sys
import threading
import time
import unittest

import numpy as np

import moeswitch
from moeswitch import _arrays
from moeswitch._library import lib

GPUS, HIDDEN, EXPERTS, K = 2, 32, 8, 3
SIZE = {"gpus": GPUS, "flit_bytes": 8}


def make(random, tokens, k=K, empty=True):
    """Hidden values, experts and weights of each GPU's tokens."""
    x = [random.integers(-4, 5, (n, HIDDEN)).astype(np.float32) for n in tokens]
    idx = [np.array([random.permutation(EXPERTS)[:k] for _ in range(n)], int).reshape(n, k) for n in tokens]
    if empty:
        for i in idx:
            i[random.random(i.shape) < 0.3] = -1
    weights = [2.0 ** random.integers(-2, 2, i.shape) for i in idx]
    return x, idx, weights


def golden(x, idx, weights, coefficients):
    factor = [(np.where(i < 0, 0, w * coefficients[i])).sum(axis=1, keepdims=True) for i, w in zip(idx, weights)]
    return [(v * f).astype(np.float32) for v, f in zip(x, factor)]


class Layers(unittest.TestCase):
    def setUp(self):
        self.device = moeswitch.Device(**SIZE)
        self.addCleanup(self.device.close)
        self.random = np.random.default_rng(int(os.environ.get("MW_SEED", "1")))

    def same(self, out, want):
        self.assertEqual(len(out), len(want))
        for o, w in zip(out, want):
            np.testing.assert_array_equal(o, w)

    def test_golden(self):
        coefficients = 2.0 ** self.random.integers(-1, 2, EXPERTS)
        for tokens in ([16, 16], [1, 1], [0, 9], [7, 0], [5, 12]):
            layer = self.device.dymulticast(HIDDEN, EXPERTS, K, 2 * max(tokens))
            data = make(self.random, tokens)
            handle = layer.dispatch(*data, coefficients)
            out = handle.combine()
            self.same(out, golden(*data, coefficients))
            self.assertEqual([o.shape for o in out], [(n, HIDDEN) for n in tokens])
            self.assertGreater(handle.cycles, 0)

    def test_rows_with_scales(self):
        """DeepEP's pair: every code is a number, and a block's scale a factor of the result."""
        hidden, k = 256, 2
        code = np.array([0x30, 0x38, 0x40, 0xb8, 0xc8])  # 0.5, 1, 2, -1, -4
        value = {0x30: .5, 0x38: 1., 0x40: 2., 0xb8: -1., 0xc8: -4.}
        tokens = [5, 3]
        _, idx, weights = make(self.random, tokens, k, empty=False)
        data = [self.random.choice(code, (n, hidden)).astype(np.uint8) for n in tokens]
        scales = [(2.0 ** self.random.integers(-3, 4, (n, 2))).astype(np.float32) for n in tokens]
        number = [np.vectorize(value.get, [float])(d) for d in data]
        for kind in ("e4m3", "e4m3-tensor"):
            layer = self.device.dymulticast(hidden, EXPERTS, k, 10, dispatch_type=kind)
            scaled = kind == "e4m3"
            x = [n * np.repeat(s, 128, axis=1) if scaled else n for n, s in zip(number, scales)]
            given = (data, scales) if scaled else data
            handle = layer.dispatch(given, idx, weights).wait()
            for e, r in enumerate(handle.received()):
                got, got_scales = r.x if scaled else (r.x, None)
                for i, (g, t) in enumerate(zip(r.gpu, r.token)):
                    np.testing.assert_array_equal(got[i], data[g][t])
                    if scaled:
                        np.testing.assert_array_equal(got_scales[i], scales[g][t])
            out = handle.combine()
            self.same(out, golden(x, idx, weights, np.ones(EXPERTS)))
            self.assertEqual(out[0].dtype, np.float32)
            self.same(layer.prepare(given, idx, weights).run(), out)
        layer = self.device.dymulticast(hidden, EXPERTS, k, 10, dispatch_type="e4m3")
        for bad in (np.nan, 0, -1, np.inf):
            wrong = [s.copy() for s in scales]
            wrong[1][2, 1] = bad
            with self.assertRaisesRegex(ValueError, r"scales of GPU 1: \S+ at \(2, 1\): a scale is a positive normal"):
                layer.prepare((data, wrong), idx, weights)
        with self.assertRaisesRegex(TypeError, "x: with dispatch_type e4m3 it is a pair of codes and scales"):
            layer.prepare(np.array(data[0]), idx, weights)
        with self.assertRaisesRegex(TypeError, "x of GPU 0: float64 is no type of codes"):
            layer.prepare((number, scales), idx, weights)
        with self.assertRaisesRegex(ValueError, r"scales of GPU 0: shape \(5, 1\), not \(tokens, 2\)"):
            layer.prepare((data, [s[:, :1] for s in scales]), idx, weights)
        with self.assertRaisesRegex(ValueError, "dispatch_type: 'fp8', expected bf16, e4m3-tensor, e4m3, nvfp4"):
            self.device.dymulticast(hidden, EXPERTS, k, 10, dispatch_type="fp8")
        with self.assertRaisesRegex(moeswitch.Error, "block_bytes: 128 are no multiple of 256, a block of 128 values"):
            self.device.dymulticast(64, EXPERTS, k, 10, dispatch_type="e4m3")

    def test_rows_of_half_bytes(self):
        """NVFP4: codes, e4m3 scales of 16 values, a scale of each row."""
        hidden, k, tokens = 256, 2, [5, 3]
        number = np.array([0, .5, 1, 1.5, 2, 3, 4, 6, -0., -.5, -1, -1.5, -2, -3, -4, -6])
        value = {0x30: .5, 0x38: 1., 0x48: 4.}
        _, idx, weights = make(self.random, tokens, k, empty=False)
        codes = [self.random.choice([0, 2, 4, 10, 12, 14], (n, hidden)) for n in tokens]
        data = [(c[:, ::2] | c[:, 1::2] << 4).astype(np.uint8) for c in codes]
        groups = [self.random.choice(list(value), (n, hidden // 16)).astype(np.uint8) for n in tokens]
        scales = [(2.0 ** self.random.integers(-3, 4, (n, 1))).astype(np.float32) for n in tokens]
        x = [number[c] * np.repeat(np.vectorize(value.get, [float])(g), 16, axis=1) * s
             for c, g, s in zip(codes, groups, scales)]
        layer = self.device.dymulticast(hidden, EXPERTS, k, 10, dispatch_type="nvfp4")
        handle = layer.dispatch((data, groups, scales), idx, weights).wait()
        for r in handle.received():
            for got, given in zip(r.x, (data, groups, scales)):
                for i, (g, t) in enumerate(zip(r.gpu, r.token)):
                    np.testing.assert_array_equal(got[i], given[g][t])
        self.same(handle.combine(), golden(x, idx, weights, np.ones(EXPERTS)))
        for bad in (0, 0x7f, 0xb8):
            wrong = [g.copy() for g in groups]
            wrong[1][2, 1] = bad
            text = r"e4m3 scales of GPU 1: 0x\w\w at \(2, 1\): a scale is 0x01 to 0x7e"
            with self.assertRaisesRegex(ValueError, text):
                layer.prepare((data, wrong, scales), idx, weights)
        with self.assertRaisesRegex(TypeError, "nvfp4 it is codes, e4m3 scales and scales of rows"):
            layer.prepare((data, scales), idx, weights)
        with self.assertRaisesRegex(ValueError, r"GPU 1: 3 tokens in x, 2 in its scales"):
            layer.prepare((data, [groups[0], groups[1][:2]], scales), idx, weights)

    def test_experts_anywhere(self):
        x, idx, weights = make(self.random, [9, 12])
        coefficients = 2.0 ** self.random.integers(-1, 2, EXPERTS)
        where = [0, 1, 1, 0, 1, 0, 1, 0]
        layer = self.device.dymulticast(HIDDEN, EXPERTS, K, 24, gpu_of_expert=where)
        self.same(layer.dispatch(x, idx, weights, coefficients).combine(), golden(x, idx, weights, coefficients))
        # number EXPERTS is a second place of expert 0, on the other GPU, which the second home picks
        idx[1] = np.where(idx[1] == 0, EXPERTS, idx[1])
        layer = self.device.dymulticast(HIDDEN, EXPERTS + 1, K, 24, gpu_of_expert=where + [1])
        coefficients = np.append(coefficients, coefficients[0])
        handle = layer.dispatch(x, idx, weights, coefficients)
        self.same(handle.combine(), golden(x, idx, weights, coefficients))
        rows = handle.counts()
        self.assertEqual([rows[0], rows[EXPERTS]], [np.sum(idx[0] == 0), np.sum(idx[1] == EXPERTS)])
        with self.assertRaisesRegex(moeswitch.Error, "expert 8: GPU 2 of 2"):
            self.device.dymulticast(HIDDEN, EXPERTS + 1, K, 24, gpu_of_expert=where + [2])
        with self.assertRaisesRegex(ValueError, "gpu_of_expert: 8 GPUs of 9 experts"):
            self.device.dymulticast(HIDDEN, EXPERTS + 1, K, 24, gpu_of_expert=where)

    def test_again_and_changed(self):
        data = make(self.random, [8, 8], empty=False)
        handle = self.device.dymulticast(HIDDEN, EXPERTS, K, 16).dispatch(*data)
        first, cycles = handle.combine(), handle.cycles
        self.same(handle.combine(), first)
        self.assertEqual(handle.cycles, cycles)
        handle.set(expert_cycles=500)
        self.same(handle.combine(), first)
        self.assertGreater(handle.cycles, cycles + 500)
        self.assertGreater(self.device.counters()["cycles"], cycles)
        with self.assertRaisesRegex(moeswitch.Error, "no_such"):
            handle.set(no_such=1)

    def test_phases(self):
        """One program and two give the same bits, whatever the state of the handle."""
        data = make(self.random, [8, 5])
        want = golden(*data, np.ones(EXPERTS))
        handle = self.device.dymulticast(HIDDEN, EXPERTS, K, 16).prepare(*data)
        self.same(handle.run(), want)
        cycles = handle.cycles
        with self.assertRaisesRegex(moeswitch.Error, "call mw_dispatch_start"):
            handle.wait()
        self.assertIs(handle.dispatch(), handle)
        with self.assertRaisesRegex(moeswitch.Error, "call mw_combine first"):
            handle.dispatch()
        self.assertGreater(handle.wait().cycles, 0)
        dispatched = handle.cycles
        self.same(handle.combine(), want)
        self.assertGreater(handle.cycles, dispatched)
        self.same(handle.dispatch().run(), want)
        self.assertEqual(handle.cycles, cycles)

    def test_received(self):
        """Every expert gets the rows of its tokens, and may be a program of one's own."""
        x, idx, weights = make(self.random, [12, 7])
        factor = 2.0 ** self.random.integers(-1, 2, EXPERTS)
        handle = self.device.dymulticast(HIDDEN, EXPERTS, K, 24).dispatch(x, idx, weights).wait()
        rows = handle.received()
        self.assertEqual([len(r.x) for r in rows], list(handle.counts()))
        for e, r in enumerate(rows):
            home = {(g, t): w[t][i[t] == e] for g, (i, w) in enumerate(zip(idx, weights)) for t in range(len(i))
                    if e in i[t]}
            self.assertEqual(sorted(zip(r.gpu, r.token)), sorted(home))
            for row, g, t, w in zip(r.x, r.gpu, r.token, r.weight):
                np.testing.assert_array_equal(row, x[g][t])
                self.assertEqual(w, home[g, t][0])
        y = [r.x * r.weight[:, None] * factor[e] for e, r in enumerate(rows)]
        busy = max(range(EXPERTS), key=lambda e: len(y[e]))
        for bad, text in ((y[1:], "y: 7 parts for 8 experts"), ([*y[:busy], y[busy][1:], *y[busy + 1:]], "shape")):
            with self.assertRaisesRegex(ValueError, text):
                handle.combine(y=bad)
        self.same(handle.combine(y=y), golden(x, idx, weights, factor))
        for call in (handle.combine, lambda: handle.combine(y=y), handle.run, handle.received):
            with self.assertRaises(moeswitch.Error) as state:  # the results are used, the rows are gone
                call()
            self.assertEqual(state.exception.name, "MW_ERR_STATE")
        self.same(handle.dispatch().combine(), golden(x, idx, weights, np.ones(EXPERTS)))
        # bits stay bits; numbers of several types become one
        bits = [_arrays.to_bf16(v) for v in x]
        found = handle._multicast.dispatch(bits, idx, weights).wait().received()
        self.assertEqual({r.x.dtype for r in found}, {np.dtype(np.uint16)})
        mixed = handle._multicast.dispatch([x[0].astype(np.float16), x[1]], idx, weights).wait().received()
        self.assertEqual({r.x.dtype for r in mixed}, {np.dtype(np.float32)})

    def cached_layer(self, **options):
        return self.device.dymulticast(HIDDEN, EXPERTS, K, 24, cached_handles=True, **options)

    def test_cached(self):
        """Gradients take the routes of the forward pass, in one program and in two, and so do their gate weights."""
        coefficients, other = (2.0 ** self.random.integers(-1, 2, EXPERTS) for _ in range(2))
        for tokens in ([12, 7], [0, 9]):
            layer = self.cached_layer(gate_gradients=True)
            x, idx, weights = make(self.random, tokens)
            dy = make(self.random, tokens)[0]
            dw = [np.where(i < 0, 0, np.sum(v * g, axis=1, keepdims=True) * coefficients[i])
                  for v, g, i in zip(x, dy, idx)]
            want = golden(dy, idx, weights, coefficients)
            forward = layer.dispatch(x, idx, weights, coefficients)
            self.same(forward.combine(), golden(x, idx, weights, coefficients))
            cached = layer.dispatch(dy, handle=forward)
            self.same(cached.combine(), want)
            self.same(cached.gradients(), dw)
            self.assertEqual([g.dtype for g in cached.gradients()], [np.float32] * GPUS)
            forward.run()
            fused = forward.cached(dy)
            self.same(fused.run(), want)
            self.same(fused.gradients(), dw)
            forward.run()
            self.same(layer.dispatch(dy, coefficients=other, handle=forward).combine(),
                      golden(dy, idx, weights, other))
            forward.run()  # the types of dy are those of dX, and what is given may change
            bits = [_arrays.to_bf16(v) for v in dy]
            cached = forward.cached(bits)
            for part in bits:
                part[:] = 0
            del forward
            gc.collect()
            found = cached.run()
            self.assertEqual([v.dtype for v in found], [np.uint16] * GPUS)
            self.same([_arrays.from_bf16(v) for v in found], want)

    def test_cached_received(self):
        """Rows of dY lie where the rows of x did, in bf16 even where those had other bits."""
        x, idx, weights = make(self.random, [12, 7])
        dy = make(self.random, [12, 7])[0]
        layer = self.cached_layer(gate_gradients=True)
        forward = layer.dispatch(x, idx, weights).wait()
        rows = forward.received()
        forward.combine(y=[r.x for r in rows])
        cached = layer.dispatch(dy, handle=forward).wait()
        found = cached.received()
        for r, f in zip(rows, found):
            for name in ("gpu", "token", "weight"):
                np.testing.assert_array_equal(getattr(r, name), getattr(f, name))
            for row, g, t in zip(f.x, f.gpu, f.token):
                np.testing.assert_array_equal(row, dy[g][t])
        cached.combine(y=[f.x * f.weight[:, None] for f in found])
        with self.assertRaisesRegex(moeswitch.Error, "mw_expert_output has written results"):
            cached.gradients()
        hidden = 256
        layer = self.device.dymulticast(hidden, EXPERTS, K, 24, dispatch_type="e4m3-tensor", cached_handles=True)
        codes = [np.full((n, hidden), 0x38, np.uint8) for n in (12, 7)]  # ones
        dy = [self.random.integers(-4, 5, (n, hidden)).astype(np.float32) for n in (12, 7)]
        forward = layer.prepare(codes, idx, weights)
        forward.run()
        cached = layer.dispatch(dy, handle=forward).wait()
        for f in cached.received():
            for row, g, t in zip(f.x, f.gpu, f.token):
                np.testing.assert_array_equal(row, dy[g][t])
        self.same(cached.combine(), golden(dy, idx, weights, np.ones(EXPERTS)))

    def test_cached_refused(self):
        x, idx, weights = make(self.random, [12, 7])
        layer = self.cached_layer()
        forward = layer.prepare(x, idx, weights)
        for call, text in ((lambda: forward.cached(x[:1]), "x: 1 parts for 2 GPUs"),
                           (lambda: forward.cached([x[0], x[1][:3]]), "GPU 1: 3 tokens in x, 7 in the handle"),
                           (lambda: forward.cached(x, np.ones(3)), r"coefficients: shape \(3,\), not \(8,\)"),
                           (lambda: layer.dispatch(x, idx, weights, handle=forward), "leave them out"),
                           (lambda: layer.dispatch(x, handle=layer), "no Handle of this object"),
                           (lambda: self.cached_layer().dispatch(x, handle=forward), "no Handle of this object")):
            with self.assertRaisesRegex(ValueError, text):
                call()
        with self.assertRaisesRegex(TypeError, "cached_handles: 2, expected True or False"):
            self.device.dymulticast(HIDDEN, EXPERTS, K, 24, cached_handles=2)
        plain = self.device.dymulticast(HIDDEN, EXPERTS, K, 24).prepare(x, idx, weights)
        with self.assertRaisesRegex(moeswitch.Error, "set cached_handles in mw_dymulticast_prop"):
            plain.cached(x)
        with self.assertRaisesRegex(moeswitch.Error, "gate_gradients: only with cached_handles"):
            self.device.dymulticast(HIDDEN, EXPERTS, K, 24, gate_gradients=True)
        with self.assertRaisesRegex(moeswitch.Error, "gate_gradients: only for rows of dispatch in bf16"):
            self.device.dymulticast(256, EXPERTS, K, 24, dispatch_type="e4m3", cached_handles=True, gate_gradients=True)
        cached = forward.cached(x)
        for begin, text in ((lambda: None, "no layer has kept one yet"), (plain.run, "counted its own rows"),
                            (lambda: layer.prepare(x, idx, weights).run(), "the layer of another handle has counted"),
                            (self.device.reset, "the device was reset")):
            begin()
            for call in (cached.dispatch, cached.combine, cached.run, lambda: layer.dispatch(x, handle=forward)):
                with self.assertRaisesRegex(moeswitch.Error, text) as stale:
                    call()
                self.assertEqual(stale.exception.name, "MW_ERR_HANDLE")
            forward.run()
            self.same(cached.run(), golden(x, idx, weights, np.ones(EXPERTS)))
        with self.assertRaisesRegex(moeswitch.Error, "set gate_gradients in mw_dymulticast_prop"):
            cached.gradients()
        with self.assertRaisesRegex(moeswitch.Error, "this handle has rows of x alone"):
            forward.gradients()

    def test_given_up(self):
        """A dispatch that is given up needs a reset, and then the handle starts anew."""
        data = make(self.random, [8, 8])
        handle = self.device.dymulticast(HIDDEN, EXPERTS, K, 16).prepare(*data).set(start_delay=60000)

        def give_up(*_):
            raise KeyError("enough")

        handle.dispatch()
        with self.assertRaisesRegex(KeyError, "enough"):
            handle.wait(give_up)
        for call in (handle.wait, handle.received, handle.combine, handle.run, handle.dispatch):
            with self.assertRaisesRegex(moeswitch.Error, "call mw_reset"):
                call()
        self.device.reset()
        handle.set(start_delay=0)
        self.same(handle.combine(), golden(*data, np.ones(EXPERTS)))

    def test_what_is_given_may_change(self):
        x, idx, weights = make(self.random, [4, 4])
        want = golden(x, idx, weights, np.ones(EXPERTS))
        handle = self.device.dymulticast(HIDDEN, EXPERTS, K, 8).dispatch(x, idx, weights)
        for part in (*x, *idx, *weights):
            part[:] = 1
        del x, idx, weights
        gc.collect()
        self.same(handle.combine(), want)

    def test_types(self):
        x, idx, weights = make(self.random, [6, 6])
        want = golden(x, idx, weights, np.ones(EXPERTS))
        layer = self.device.dymulticast(HIDDEN, EXPERTS, K, 12)
        bfloat16 = np.dtype([("bfloat16", "<u2")])  # no NumPy type of that name without ml_dtypes
        self.assertFalse(_arrays.is_bits(bfloat16))
        for dtype in (np.float16, np.float32, np.float64, np.int8, np.int64):
            out = layer.dispatch([v.astype(dtype) for v in x], idx, weights).combine()
            self.same(out, want)
            self.assertEqual(out[0].dtype, dtype if np.dtype(dtype).kind == "f" else np.float32)
        out = layer.dispatch([_arrays.to_bf16(v) for v in x], idx, weights).combine()
        self.assertEqual(out[0].dtype, np.uint16)
        self.same([_arrays.from_bf16(o) for o in out], want)
        # arrays that are not contiguous, other types of indices and weights, one array for all GPUs
        stack = np.zeros((GPUS, 12, 2 * HIDDEN), np.float32)
        stack[:, ::2, ::2] = x
        out = layer.dispatch(stack[:, ::2, ::2], np.array(idx, np.int8), np.array(weights, np.float16)).combine()
        self.same(out, want)
        self.same(layer.dispatch(np.array(x, order="F"), np.array(idx, order="F"), weights).combine(), want)

    def test_types_of_every_argument(self):
        """Byte order, bits of bf16 and none mean the same in each: the result is that of the plainest types."""
        x, idx, weights = make(self.random, [6, 6])
        coefficients = 2.0 ** self.random.integers(-1, 2, EXPERTS)
        want = golden(x, idx, weights, coefficients)
        layer = self.device.dymulticast(HIDDEN, EXPERTS, K, 12)
        bits = _arrays.to_bf16
        strange = np.float32(7e37)  # beside none
        numbers = [lambda v, d=d: np.asarray(v).astype(d) for d in ("<f4", ">f4", "<f8", ">f8", "<f2", ">f2")]
        numbers += [lambda v: bits(v), lambda v: bits(v).astype(">u2"), lambda v: np.asfortranarray(bits(v))[..., ::1]]
        indices = [lambda v, d=d: v.astype(d) for d in ("<i8", ">i8", "i1", ">i2", "<u2", ">u2", "u1", "<u8", ">u4")]
        for i, of in enumerate(numbers):
            for g in range(GPUS):
                weights[g][idx[g] < 0] = (np.nan, strange)[i % 2] if i < 4 else 1
            index = indices[i % len(indices)]
            out = layer.dispatch([of(v) for v in x], [index(v) for v in idx], [of(v) for v in weights],
                                 of(coefficients)).combine()
            self.assertEqual([o.dtype for o in out], [of(v).dtype for v in x])
            self.same([_arrays.from_bf16(o) if o.dtype.kind == "u" else o for o in out], want)
        # each GPU's own type
        out = layer.dispatch([x[0].astype(">f8"), bits(x[1]).astype(">u2")], idx, weights, coefficients).combine()
        self.assertEqual([o.dtype for o in out], [np.dtype(">f8"), np.dtype(">u2")])
        self.same([out[0], _arrays.from_bf16(out[1])], want)

    def test_nan(self):
        x, idx, weights = make(self.random, [3, 3], empty=False)
        x[1][2, 5] = np.nan
        out = self.device.dymulticast(HIDDEN, EXPERTS, K, 6).dispatch(x, idx, weights).combine()
        self.assertTrue(np.isnan(out[1][2, 5]))
        self.assertEqual(sum(int(np.isnan(o).sum()) for o in out), 1)

    def test_several(self):
        layers = [self.device.dymulticast(HIDDEN, EXPERTS, k, 16) for k in (1, 2, EXPERTS)]
        data = [make(self.random, [8, 8], layer.k) for layer in layers]
        handles = [layer.dispatch(*d) for layer, d in zip(layers, data)]
        want = [golden(*d, np.ones(EXPERTS)) for d in data]
        for i in (2, 0, 1, 2):
            self.same(handles[i].combine(), want[i])
        found = {}
        threads = [threading.Thread(target=lambda i=i: found.setdefault(i, handles[i].combine())) for i in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        for i in range(3):
            self.same(found[i], want[i])

    def test_refused(self):
        layer = self.device.dymulticast(HIDDEN, EXPERTS, K, 8)
        x, idx, weights = make(self.random, [4, 4], empty=False)
        bad = np.array(idx)
        bad[1, 2] = (1, 1, 2)
        high = np.array(idx)
        high[0, 0, 0] = EXPERTS
        for arguments, kind, text in (
            ((x[:1], idx, weights), ValueError, "x: 1 parts for 2 GPUs"),
            ((x, [i[:, :2] for i in idx], weights), ValueError, r"topk_idx of GPU 0: shape \(4, 2\), not \(tokens, 3"),
            (([x[0], x[1][:, :8]], idx, weights), ValueError, r"x of GPU 1: shape \(4, 8\), not \(tokens, 32\)"),
            (([x[0], x[1][0]], idx, weights), ValueError, r"x of GPU 1: shape \(32,\)"),
            (([x[0], x[1][:3]], idx, weights), ValueError, "GPU 1: 3 tokens in x, 4 in topk_idx, 4 in topk_weights"),
            ((x, weights, weights), TypeError, "topk_idx of GPU 0: float64 is no type of indices"),
            ((x, [i + 40000 for i in idx], weights), ValueError,
             r"topk_idx of GPU 0: 4000\d at \(0, 0\); an expert is 0 to 7, -1 none"),
            ((x, [i - 9 for i in idx], weights), ValueError, "topk_idx of GPU 0: -[2-9] at"),
            ((x, idx, [w + 0j for w in weights]), TypeError, "topk_weights of GPU 0: complex128"),
            (([v.astype("U") for v in x], idx, weights), TypeError, "x of GPU 0: <U"),
            ((x, idx, weights, np.ones(3)), ValueError, r"coefficients: shape \(3,\), not \(8,\)"),
            ((x, bad, weights), moeswitch.Error, "."),
            ((x, high, weights), ValueError, r"topk_idx of GPU 0: 8 at \(0, 0\); an expert is 0 to 7"),
            ((x, idx, None), TypeError, "topk_weights: NoneType is no array"),
            ((x, idx, [weights[0], [[1], [1, 2]]]), ValueError, "topk_weights of GPU 1: "),
            ((x, [i.astype(bool) for i in idx], weights), TypeError, "topk_idx of GPU 0: bool"),
            ((x, idx, weights, [None] * EXPERTS), TypeError, "coefficients: object is no type of numbers"),
            (([v.astype("V2") for v in x], idx, weights), TypeError, "x of GPU 0: .V2"),
            (make(self.random, [5, 5]), moeswitch.Error, "."),
        ):
            with self.assertRaisesRegex(kind, text):
                layer.dispatch(*arguments)
        try:
            layer.dispatch(x, bad, weights)
            self.fail("an expert twice")
        except moeswitch.Error as e:
            self.assertEqual((e.name, e.code), ("MW_ERR_INVALID", -1))
        for arguments in ((HIDDEN, EXPERTS + 1, K, 8), (HIDDEN + 1, EXPERTS, K, 8), (HIDDEN, EXPERTS, 17, 8)):
            with self.assertRaises(moeswitch.Error):
                self.device.dymulticast(*arguments)
        self.same(layer.dispatch(x, idx, weights).combine(), golden(x, idx, weights, np.ones(EXPERTS)))

    def test_numbers(self):
        """An argument that is one number is that number, or refused by its name; nothing is cut."""
        data = make(self.random, [8, 8])
        handle = self.device.dymulticast(HIDDEN, EXPERTS, K, 16).dispatch(*data)
        bad = ((2.7, ValueError), (True, TypeError), (np.True_, TypeError), ("16", TypeError), (None, TypeError),
               (-1, ValueError), (2**64, ValueError), (float("nan"), ValueError), (float("inf"), ValueError),
               (np.float32(0.5), ValueError), (3 + 0j, TypeError), (np.ma.array(3, mask=True), TypeError),
               (np.array([1, 2]), TypeError), (np.ma.masked, TypeError))
        for value, kind in bad:
            for name in ("tile", "expert_cycles"):
                with self.assertRaisesRegex(kind, f"^{name}: "):
                    handle.set(**{name: value})
            for i, name in enumerate(("hidden", "experts", "k", "tokens", "rows_per_expert")):
                if name == "rows_per_expert" and value is None:
                    continue
                arguments = [HIDDEN, EXPERTS, K, 16, 16]
                arguments[i] = value
                with self.assertRaisesRegex(kind, f"^{name}: "):
                    self.device.dymulticast(*arguments)
        for value in (0.5, 2, "yes", None, -1):
            with self.assertRaisesRegex(TypeError, "^partial_tiles: "):
                handle.set(partial_tiles=value)
        with self.assertRaisesRegex(ValueError, "^name: a NUL"):
            handle.set(**{"tile\0x": 2})
        with self.assertRaisesRegex(TypeError, "^progress: int"):
            handle.combine(1)
        want = golden(*data, np.ones(EXPERTS))
        for value in (2, 2.0, np.float64(2), np.int8(2), np.uint64(2), np.array(2)):
            self.same(handle.set(tile=value, partial_tiles=True).combine(), want)
        self.same(self.device.dymulticast(32.0, np.int16(EXPERTS), np.float32(K), 16).dispatch(*data).combine(), want)

    def test_masked(self):
        """What a mask hides is no value; without a hidden one the mask says nothing."""
        x, idx, weights = make(self.random, [4, 4], empty=False)
        coefficients = np.ones(EXPERTS)
        layer = self.device.dymulticast(HIDDEN, EXPERTS, K, 8)
        plain = [x, idx, weights, coefficients]
        for i, name in enumerate(("x", "topk_idx", "topk_weights", "coefficients")):
            def hidden(part):
                masked = np.ma.array(part)
                masked[0] = np.ma.masked
                return masked
            rows = plain[3] if i == 3 else plain[i][0]
            for part in (hidden(rows), list(hidden(rows))):
                arguments = list(plain)
                arguments[i] = part if i == 3 else [part, plain[i][1]]
                with self.assertRaisesRegex(ValueError, f"^{name}.*masked elements"):
                    layer.dispatch(*arguments)
        want = golden(x, idx, weights, coefficients)
        self.same(layer.dispatch(*([np.ma.array(v) for v in part] for part in (x, idx, weights)),
                                 np.ma.array(coefficients)).combine(), want)

    def test_weights_are_finite(self):
        x, idx, weights = make(self.random, [4, 4], empty=False)
        layer = self.device.dymulticast(HIDDEN, EXPERTS, K, 8)
        for value, said in ((np.nan, "nan"), (-np.inf, "-inf"), (1e300, "inf")):
            weights[1][2, 1] = value
            with self.assertRaisesRegex(ValueError, rf"^topk_weights of GPU 1: {said} at \(2, 1\): a weight"):
                layer.dispatch(x, idx, weights)
            idx[1][2, 1], kept = -1, idx[1][2, 1]
            layer.dispatch(x, idx, weights).combine()  # no expert has it
            idx[1][2, 1] = kept

    def test_canceled(self):
        data = make(self.random, [8, 8], empty=False)
        handle = self.device.dymulticast(HIDDEN, EXPERTS, K, 16).dispatch(*data)
        first, cycles = handle.combine(), handle.cycles
        handle.set(expert_cycles=20000)
        calls = []

        def give_up(tokens, total, now):
            calls.append((tokens, total))
            raise KeyError("enough")

        with self.assertRaisesRegex(KeyError, "enough"):
            handle.combine(give_up)
        self.assertEqual(len(calls), 1)
        self.assertEqual(calls[0][1], 16)
        with self.assertRaises(moeswitch.Error) as state:
            handle.combine()
        self.assertEqual(state.exception.name, "MW_ERR_STATE")
        self.device.reset()
        # a signal whose handler raises, as that of Ctrl-C does, also where the tests run in the background and a shell
        # has them ignore it; not amid a finalizer, from which nothing can be raised
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        gc.collect()
        gc.disable()
        self.addCleanup(gc.enable)
        timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            handle.set(expert_cycles=65535)
            while timer.is_alive():
                handle.combine()
            time.sleep(5)  # it may be on its way still, where the last layer had ended
            self.fail("the signal came and went")
        timer.join()
        self.device.reset()
        handle.set(expert_cycles=0)
        self.same(handle.combine(), first)
        self.assertEqual(handle.cycles, cycles)

    def test_closed(self):
        layer = self.device.dymulticast(HIDDEN, EXPERTS, K, 8)
        data = make(self.random, [4, 4])
        handle = layer.dispatch(*data)
        self.device.close()
        self.device.close()
        for call in (self.device.info, self.device.reset, self.device.counters, handle.combine,
                     handle.run, handle.dispatch, handle.wait, handle.received, handle.counts,
                     lambda: layer.dispatch(*data), lambda: self.device.dymulticast(HIDDEN, EXPERTS, K, 8)):
            with self.assertRaisesRegex(ValueError, "the device is closed"):
                call()
        del handle, layer
        gc.collect()

    def test_only_the_handle_is_kept(self):
        data = make(self.random, [4, 4])
        want = golden(*data, np.ones(EXPERTS))
        handle = moeswitch.Device(**SIZE).dymulticast(HIDDEN, EXPERTS, K, 8).dispatch(*data)
        gc.collect()
        self.same(handle.combine(), want)


class Devices(unittest.TestCase):
    def test_info(self):
        with moeswitch.Device(**SIZE, link_latency=7, backend="plain") as device:
            info = device.info()
            self.assertEqual((info["gpus"], info["flit_bytes"], info["link_latency"]), (GPUS, 8, 7))
            self.assertEqual(device.simulation()["backend"], "plain")
            self.assertEqual(len(device.counters()["port"]), GPUS)
        self.assertEqual(moeswitch.__version__.count("."), 2)

    def test_ports(self):
        with moeswitch.Device(**SIZE) as device:
            device.partition(0, range(GPUS))
            device.partition(GPUS - 1, [])
            for gpu, reachable in ((GPUS, [0]), (0, [GPUS]), (0, [-1])):
                with self.assertRaises(ValueError):
                    device.partition(gpu, reachable)
            self.assertEqual(device.ports_down(), [])
            self.assertEqual(lib.mw_port_disable(device._pointer(), 1), 0)
            self.assertEqual(device.ports_down(), [1])

    def test_refused(self):
        for options, name, text in (
            ({"gpus": 1}, "MW_ERR_INVALID", "."),
            ({"gpus": 31}, "MW_ERR_NODEV", "no model n31f8.*make model N=31 F=8"),
            ({"link_latency": 2048}, "MW_ERR_CAPACITY", "at most 2047 cycles"),
            ({"gpus": 31, "link_latency": 1000}, "MW_ERR_NODEV", "no model n31f8-far.*make model N=31 F=8 FAR=1"),
            ({"transport": "pigeon"}, "MW_ERR_NODEV", "pigeon"),
            ({"model": "/none.so"}, "MW_ERR_NODEV", "/none.so"),
            ({"backend": "no"}, "MW_ERR_INVALID", "lanes and plain"),
        ):
            with self.assertRaisesRegex(moeswitch.Error, text) as raised:
                moeswitch.Device(**{**SIZE, **options})
            self.assertEqual(raised.exception.name, name)
        for options, kind, text in (
            ({"gpus": 2.5}, ValueError, "^gpus: 2.5 is no whole number"),
            ({"gpus": True}, TypeError, "^gpus: bool"),
            ({"flit_bytes": 2**32 + 8}, ValueError, "^flit_bytes: 4294967304, expected 0 to 4294967295"),
            ({"timeout_ms": -1}, ValueError, "^timeout_ms: -1"),
            ({"link_latency": "7"}, TypeError, "^link_latency: str"),
            ({"small": 0.5}, TypeError, "^small: 0.5, expected True or False"),
            ({"small": "no"}, TypeError, "^small: 'no'"),
            ({"transport": 3}, TypeError, "^transport: int is no text"),
            ({"transport": "sim\0x"}, ValueError, "^transport: a NUL"),
            ({"backend": "plain\0x"}, ValueError, "^backend: a NUL"),
        ):
            with self.assertRaisesRegex(kind, text):
                moeswitch.Device(**{**SIZE, **options})
        with self.assertRaisesRegex(TypeError, "no option colour"):
            moeswitch.Device(**SIZE, colour="red")

    def test_library(self):
        """One that is not there, or no such library, ends the import with words."""
        for library, text in (("/none/lib.so", "MOESWITCH_LIBRARY"), (ctypes.util.find_library("c"), "mw_version")):
            done = subprocess.run([sys.executable, "-c", "import moeswitch"], capture_output=True, text=True,
                                  env={**os.environ, "MOESWITCH_LIBRARY": library})
            self.assertEqual(done.returncode, 1)
            self.assertIn(text, done.stderr.splitlines()[-1])


class Arrays(unittest.TestCase):
    def test_rounding(self):
        for value, bits in ((1.0, 0x3F80), (-2.0, 0xC000), (0.0, 0), (-0.0, 0x8000), (np.inf, 0x7F80),
                            (1 + 2**-8, 0x3F80), (1 + 3 * 2**-8, 0x3F82), (1 + 2**-8 + 2**-20, 0x3F81),
                            (3.4e38, 0x7F80), (1e-45, 0)):
            self.assertEqual(_arrays.to_bf16(np.float32(value)), bits, value)
        nans = np.array([0x7F800001, 0xFFFFFFFF, 0x7FC00000], np.uint32).view(np.float32)
        self.assertTrue(np.isnan(_arrays.from_bf16(_arrays.to_bf16(nans))).all())
        self.assertTrue(np.isnan(_arrays.from_bf16(_arrays.to_bf16(np.array([np.nan, -np.nan])))).all())
        every = np.arange(1 << 16, dtype=np.uint16)
        finite = ~np.isnan(_arrays.from_bf16(every))
        np.testing.assert_array_equal(_arrays.to_bf16(_arrays.from_bf16(every[finite])), every[finite])

    def test_rounds_once(self):
        """float64 and integers next to the middle between two bf16: through float32 they would be the middle."""
        low = _arrays.from_bf16(np.arange(0x7F7F, dtype=np.uint16)).astype(np.float64)
        high = _arrays.from_bf16(np.arange(1, 0x7F80, dtype=np.uint16)).astype(np.float64)
        middle, bits = (low + high) / 2, np.arange(0x7F7F, dtype=np.uint16)
        np.testing.assert_array_equal(_arrays.to_bf16(middle), bits + bits % 2)
        above, below = np.nextafter(middle, np.inf), np.nextafter(middle, 0)
        for sign, of in ((1, bits), (-1, bits + np.uint16(0x8000))):
            np.testing.assert_array_equal(_arrays.to_bf16(sign * above), of + np.uint16(1))
            np.testing.assert_array_equal(_arrays.to_bf16(sign * below), of)
            np.testing.assert_array_equal(_arrays.to_bf16((sign * above).astype(">f8")), of + np.uint16(1))
        for value, of in ((1 + 2**-8 + 2**-40, 0x3F81), (1e39, 0x7F80), (-1e300, 0xFF80), (1e-300, 0),
                          (2.0**-134 * (1 + 2**-50), 1), (2.0**-134, 0)):
            self.assertEqual(_arrays.to_bf16(value), of, value)
        whole = 2**62 + 2**54
        self.assertEqual(_arrays.to_bf16(np.int64(whole)), 0x5E80)
        self.assertEqual(_arrays.to_bf16(np.int64(whole + 1)), 0x5E81)
        self.assertEqual(_arrays.to_bf16(np.uint64(2**64 - 1)), 0x5F80)


if __name__ == "__main__":
    unittest.main()
