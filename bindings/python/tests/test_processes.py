# SPDX-License-Identifier: Apache-2.0
"""The binding and processes: a device belongs to the one that opened it, and multiprocessing
works however it starts."""
import multiprocessing
import pickle
import signal
import unittest
import warnings

import numpy as np

import moeswitch

SIZE = {"gpus": 2, "flit_bytes": 8}
HIDDEN, EXPERTS, K, TOKENS = 32, 8, 2, 4
SECONDS = 900  # after which a child hangs: it has work for a few


def make(seed):
    random = np.random.default_rng(seed)
    x = random.integers(-4, 5, (2, TOKENS, HIDDEN)).astype(np.float32)
    idx = np.array([[random.permutation(EXPERTS)[:K] for _ in range(TOKENS)] for _ in range(2)])
    weights = 2.0 ** random.integers(-2, 2, idx.shape)
    return x, idx, weights, x * weights.sum(axis=2, keepdims=True)


def dispatch(device, seed):
    return device.dymulticast(HIDDEN, EXPERTS, K, 2 * TOKENS).dispatch(*make(seed)[:3])


def is_right(handle, seed):
    return all(np.array_equal(o, w) for o, w in zip(handle.combine(), make(seed)[3]))


def work(seed):
    """A layer on a device of this process."""
    with moeswitch.Device(**SIZE) as device:
        return is_right(dispatch(device, seed), seed)


def use_inherited(device, handle, found):
    """What each call for the parent's device does here; what they raise goes into `found`."""
    layer = handle._multicast
    for call in (device.info, device.reset, device.simulation, device.counters, handle.combine,
                 handle.run, handle.dispatch, handle.wait, handle.received, handle.counts,
                 lambda: handle.combine(y=[np.zeros((0, HIDDEN), np.float32)] * EXPERTS),
                 lambda: handle.set(tile=2), lambda: layer.dispatch(*make(1)[:3]),
                 lambda: device.dymulticast(HIDDEN, EXPERTS, K, 8)):
        try:
            call()
            found.put(("nothing", ""))
        except moeswitch.Error as e:
            found.put((e.name, str(e)))
    device.close()
    found.put(("own", work(5)))


class Processes(unittest.TestCase):
    def setUp(self):
        # Python from 3.12 on warns of every fork beside another thread, of which a simulated device has one
        catch = warnings.catch_warnings()
        catch.__enter__()
        self.addCleanup(catch.__exit__, None, None, None)
        warnings.filterwarnings("ignore", ".*multi-threaded.*", DeprecationWarning)
        self.device = moeswitch.Device(**SIZE)
        self.addCleanup(self.device.close)
        self.handle = dispatch(self.device, 1)
        self.assertTrue(is_right(self.handle, 1))

    def test_pools(self):
        for method in ("fork", "spawn", "forkserver"):
            with self.subTest(method), multiprocessing.get_context(method).Pool(2) as pool:
                self.assertEqual(pool.map_async(work, range(4)).get(SECONDS), [True] * 4)
        self.assertTrue(is_right(self.handle, 1))

    def test_inherited(self):
        fork = multiprocessing.get_context("fork")
        found = fork.SimpleQueue()
        child = fork.Process(target=use_inherited, args=(self.device, self.handle, found))
        child.start()
        child.join(SECONDS)
        if child.is_alive():
            child.kill()
        self.assertEqual(child.exitcode, 0)
        for _ in range(14):
            name, text = found.get()
            self.assertEqual(name, "MW_ERR_STATE")
            self.assertRegex(text, "forked from it: open a device here")
        self.assertEqual(found.get(), ("own", True))
        self.assertTrue(is_right(self.handle, 1))

    def test_inherited_and_left(self):
        """A child that ends without a word to the device."""
        fork = multiprocessing.get_context("fork")
        child = fork.Process(target=str)
        child.start()
        child.join(SECONDS)
        self.assertEqual(child.exitcode, 0)
        self.assertTrue(is_right(self.handle, 1))

    def test_not_sent(self):
        for thing in (self.device, self.handle, self.handle._multicast):
            with self.assertRaisesRegex(TypeError, f"a {type(thing).__name__} belongs to the process that opened its "
                                                   "device: open a Device in the other one"):
                pickle.dumps(thing)


class Interrupts(unittest.TestCase):
    def test_moving(self):
        """Ctrl-C while dispatch() or combine() writes the data: it ends there, and the device needs no reset."""
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        tokens, hidden = 256, 8192
        with moeswitch.Device(**SIZE) as device:
            layer = device.dymulticast(hidden, EXPERTS, 1, 2 * tokens, tokens)
            idx = np.arange(2 * tokens).reshape(2, tokens, 1) % EXPERTS
            x = np.ones((2, tokens, hidden), np.float32)
            handle = layer.prepare(x, idx, np.ones(idx.shape))
            calls = []

            def look(done, total, cycles):
                calls.append((done, total, cycles))
                if len(calls) == 3:
                    signal.raise_signal(signal.SIGINT)

            for call in (handle.combine, handle.run, handle.dispatch):
                calls.clear()
                with self.assertRaises(KeyboardInterrupt):
                    call(look)
                self.assertEqual(calls, [(0, 2 * tokens, 0)] * 3)
                small = dispatch(device, 2)
                self.assertTrue(is_right(small, 2))


if __name__ == "__main__":
    unittest.main()
