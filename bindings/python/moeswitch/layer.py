# SPDX-License-Identifier: Apache-2.0
"""Layers: what DeepEP calls dispatch and combine, on a dynamic multicast object."""
import collections

import numpy as np

from ._arguments import UINT64, UNSIGNED, called, flag, text, whole
from ._arrays import array_of, bits_of, codes_of, experts_of, finite_where, group_scales_of, like, scales_of, weights_of
from ._cdef import SCALE_BLOCK, SCALE_GROUP
from ._library import Local, check, ffi, lib

#: settings of Handle.set that are on or off
_FLAGS = {name for name, field in ffi.typeof("struct mw_layer_config").fields if field.type.cname == "_Bool"}

#: struct mw_received_row
_ROW = np.dtype([("gpu", np.uint32), ("token", np.uint32), ("weight", np.float32)])

#: types of rows by name
TYPES = {"bf16": lib.MW_ROWTYPE_BF16, "e4m3-tensor": lib.MW_ROWTYPE_E4M3, "e4m3": lib.MW_ROWTYPE_E4M3_BLOCKS,
         "nvfp4": lib.MW_ROWTYPE_NVFP4}

#: rows of an expert: x [rows][hidden] in the type of the dispatched x, and [rows] of home GPU, token there, gate weight
Received = collections.namedtuple("Received", ("x", *_ROW.names))


def _per_gpu(values, gpus, what, columns, of):
    """N arrays [tokens][columns] from one [N][tokens][columns] or a list of N."""
    try:
        parts = len(values)
    except TypeError:
        raise TypeError(f"{what}: {type(values).__name__} is no array and no list of arrays") from None
    if parts != gpus:
        raise ValueError(f"{what}: {parts} parts for {gpus} GPUs")
    found = [of(v, f"{what} of GPU {g}") for g, v in enumerate(values)]
    for g, v in enumerate(found):
        if v.ndim != 2 or v.shape[1] != columns:
            raise ValueError(f"{what} of GPU {g}: shape {v.shape}, not (tokens, {columns})")
    return found


def _places(gpu_of_expert, experts):
    """Places of the experts, on each GPU in the order of their numbers."""
    gpus = [whole(g, f"gpu_of_expert[{e}]") for e, g in enumerate(gpu_of_expert)]
    if len(gpus) != experts:
        raise ValueError(f"gpu_of_expert: {len(gpus)} GPUs of {experts} experts")
    places = ffi.new("struct mw_expert_place[]", experts)
    for e, g in enumerate(gpus):
        places[e].expert, places[e].gpu, places[e].local_expert = e, g, gpus[:e].count(g)
    return places


def _shapes(kind, hidden):
    """Columns of a row's codes, of its fp32 scales and of its groups' scales."""
    if kind == "nvfp4":
        return hidden // 2, 1, hidden // SCALE_GROUP
    return hidden, hidden // SCALE_BLOCK if kind == "e4m3" else 0, 0


def _typed(rows, scales, groups):
    """struct mw_typed_rows of each GPU; the arrays stay the caller's."""
    made = ffi.new("struct mw_typed_rows[]", len(rows))
    for g, codes in enumerate(rows):
        made[g].x = ffi.from_buffer(codes)
        if scales:
            made[g].scales = ffi.from_buffer("float[]", scales[g])
        if groups:
            made[g].group_scales = ffi.from_buffer("uint8_t[]", groups[g])
    return made


class DyMulticast(Local):
    """A dynamic multicast object (`cuDyMulticastCreate`), bound to the device's memories.

    hidden: values of a token, a multiple of half a flit's bytes; experts: of all GPUs; k: experts per token; tokens: of
    all GPUs together; rows_per_expert: most rows that an expert gets, without it as many as there are tokens;
    gpu_of_expert [experts]: the GPU of each expert, without it e // (experts / N). If an expert has several places
    (replicas), each place counts as an expert, with a number and a coefficient of its own. dispatch_type: type of the
    rows that experts receive: "bf16", "e4m3" (a scale for every 128 values), "e4m3-tensor" (no scale: the coefficients
    include it) or "nvfp4" (a scale for every 16 values, and one for each row); results are bf16. cached_handles: layers
    keep what dispatch(dy, handle=...) of a backward pass needs; gate_gradients: the device's experts of a cached layer
    also return gradients of the gate weights (Handle.gradients), which requires cached_handles and "bf16".
    """

    def __init__(self, device, hidden, experts, k, tokens, rows_per_expert=None, gpu_of_expert=None,
                 dispatch_type="bf16", cached_handles=False, gate_gradients=False):
        if dispatch_type not in TYPES:
            raise ValueError(f"dispatch_type: {dispatch_type!r}, expected {', '.join(TYPES)}")
        hidden, experts = whole(hidden, "hidden", UNSIGNED // 2), whole(experts, "experts")
        k, tokens = whole(k, "k"), whole(tokens, "tokens")
        rows = tokens if rows_per_expert is None else whole(rows_per_expert, "rows_per_expert")
        prop = ffi.new("struct mw_dymulticast_prop *", {
            "size": ffi.sizeof("struct mw_dymulticast_prop"), "block_bytes": 2 * hidden, "region_sets": 2, "k": k,
            "experts": experts, "dispatch_type": TYPES[dispatch_type],
            "cached_handles": flag(cached_handles, "cached_handles"),
            "gate_gradients": flag(gate_gradients, "gate_gradients")})
        if gpu_of_expert is not None:
            places = _places(gpu_of_expert, experts)
            prop.places = places
        made = ffi.new("struct mw_dymulticast **")
        check(lib.mw_dymulticast_create(device._pointer(), prop, made))
        self._object = ffi.gc(made[0], lib.mw_dymulticast_destroy)
        self.device, self.hidden, self.experts, self.k = device, hidden, experts, k
        self.dispatch_type = dispatch_type
        check(lib.mw_dymulticast_bind_addr(self._object, tokens, rows))

    def prepare(self, x, topk_idx, topk_weights, coefficients=None):
        """Copy the data of a layer into a Handle, without use of the device.

        x: hidden values, topk_idx: experts of each token, -1 for none, topk_weights: their gate weights, each an array
        [N][tokens][hidden or k], or a list of N arrays [tokens][...]; coefficients [experts]: what an emulated expert
        multiplies with, without it 1. With dispatch_type "e4m3" x is a pair as in DeepEP: codes [N][tokens][hidden] and
        float32 scales [N][tokens][hidden / 128]; with "e4m3-tensor" it is the codes alone. With "nvfp4" it is three:
        codes [N][tokens][hidden / 2], e4m3 scales [N][tokens][hidden / 16], float32 scales [N][tokens][1] of rows.
        ValueError, TypeError: shapes or types do not fit; Error: as mw_handle_create_typed.
        """
        gpus = self.device.gpus
        typed = self.dispatch_type != "bf16"
        x, scales, groups = self._parts(x)
        width = _shapes(self.dispatch_type, self.hidden)[0]
        rows = _per_gpu(x, gpus, "x", width, codes_of if typed else bits_of)
        idx = _per_gpu(topk_idx, gpus, "topk_idx", self.k, lambda v, what: experts_of(v, what, self.experts))
        weights = _per_gpu(topk_weights, gpus, "topk_weights", self.k, weights_of)
        for g in range(gpus):
            if not len(rows[g]) == len(idx[g]) == len(weights[g]):
                raise ValueError(f"GPU {g}: {len(rows[g])} tokens in x, {len(idx[g])} in topk_idx, "
                                 f"{len(weights[g])} in topk_weights")
            finite_where(weights[g], idx[g] >= 0, f"topk_weights of GPU {g}")
        own = self._bits_of(np.ones(self.experts, np.float32) if coefficients is None else coefficients)
        part = ffi.new("struct mw_tokens[]", gpus)
        for g in range(gpus):
            part[g].tokens = len(rows[g])
            if not typed:
                part[g].x = ffi.from_buffer("uint16_t[]", rows[g])
            part[g].topk_idx = ffi.from_buffer("int16_t[]", idx[g])
            part[g].topk_weights = ffi.from_buffer("float[]", weights[g])
        made = ffi.new("struct mw_handle **")
        self.device._pointer()
        numbers = ffi.from_buffer("uint16_t[]", own)
        if typed:
            check(lib.mw_handle_create_typed(self._object, part, _typed(rows, scales, groups), numbers, made))
        else:
            check(lib.mw_handle_create(self._object, part, numbers, made))
        return Handle(self, made[0], [len(r) for r in rows],
                      [np.dtype(np.float32) if typed else array_of(v, "x").dtype for v in x], self.dispatch_type)

    def _bits_of(self, coefficients):
        """Coefficients of the experts as uint16."""
        own = bits_of(coefficients, "coefficients")
        if own.shape != (self.experts,):
            raise ValueError(f"coefficients: shape {own.shape}, not ({self.experts},)")
        return own

    def _parts(self, x):
        """Codes, fp32 scales and scales of groups of what prepare() was given as x, each a list of N arrays or None."""
        kind, gpus = self.dispatch_type, self.device.gpus
        parts = {"e4m3": "a pair of codes and scales", "nvfp4": "codes, e4m3 scales and scales of rows"}.get(kind)
        if not parts:
            return x, None, None
        if not isinstance(x, (tuple, list)) or len(x) != (3 if kind == "nvfp4" else 2):
            raise TypeError(f"x: with dispatch_type {kind} it is {parts}")
        _, scales, groups = _shapes(kind, self.hidden)
        found = _per_gpu(x[-1], gpus, "scales", scales, scales_of)
        of_groups = _per_gpu(x[1], gpus, "e4m3 scales", groups, group_scales_of) if groups else None
        for g, d in enumerate(x[0]):
            for s in (found[g], of_groups[g] if groups else found[g]):
                if len(d) != len(s):
                    raise ValueError(f"GPU {g}: {len(d)} tokens in x, {len(s)} in its scales")
        return x[0], found, of_groups

    def dispatch(self, x, topk_idx=None, topk_weights=None, coefficients=None, progress=None, handle=None):
        """prepare() and Handle.dispatch() in one call: returns the Handle while its rows are on their way.

        With `handle`, and without topk_idx and topk_weights, x takes the routes of that one, as gradients do in a
        backward pass: Handle.cached() and Handle.dispatch(). The Handle that is returned is another one.
        """
        if handle is None:
            return self.prepare(x, topk_idx, topk_weights, coefficients).dispatch(progress)
        if topk_idx is not None or topk_weights is not None:
            raise ValueError("topk_idx, topk_weights: with a handle its own are used: leave them out")
        if not isinstance(handle, Handle) or handle._multicast is not self:
            raise ValueError("handle: it is no Handle of this object")
        return handle.cached(x, coefficients).dispatch(progress)


class Handle(Local):
    """A layer. dispatch() starts its first phase, combine() runs the rest; run() is both in one program.

    It may be dispatched, combined and run again and again. cached() makes one for a backward pass. A device holds the
    rows of one handle: they are lost when another layer begins. combine() then sends them again, calls that need them
    raise Error (MW_ERR_STATE).

    progress(tokens, tokens_total, cycles) of a call is called now and then, with 0 tokens and cycles while data are
    moved or another handle's dispatch runs. What it raises, and Ctrl-C, ends the call and is raised there. If the
    layer ran, the device then needs a reset().
    """

    def __init__(self, multicast, handle, tokens, dtypes, kind):
        self._handle = ffi.gc(handle, lib.mw_handle_destroy)
        self._multicast, self._tokens, self._dtypes, self._kind = multicast, tokens, dtypes, kind
        self.cycles = None  #: of the last wait, combine or run

    def cached(self, x, coefficients=None):
        """A Handle whose rows x take the routes of this one, without use of the device.

        x: rows of this handle's tokens, an array [N][tokens][hidden] or a list of N arrays, in bf16 whatever
        dispatch_type is; coefficients as in prepare(), without them those of this handle. Its layers count nothing:
        they use counts and allocated rows of this handle's last layer. Error (MW_ERR_HANDLE) of its dispatch(),
        combine() and run(): the device no longer has these, for example because another layer has counted since. The
        message says what came in between. Then dispatch() or run() this handle again. Error (MW_ERR_INVALID): the
        object has no cached_handles.
        """
        multicast = self._multicast
        gpus = multicast.device.gpus
        rows = _per_gpu(x, gpus, "x", multicast.hidden, bits_of)
        for g in range(gpus):
            if len(rows[g]) != self._tokens[g]:
                raise ValueError(f"GPU {g}: {len(rows[g])} tokens in x, {self._tokens[g]} in the handle")
        numbers = ffi.NULL if coefficients is None else ffi.from_buffer("uint16_t[]", multicast._bits_of(coefficients))
        given = ffi.new("uint16_t *[]", [ffi.from_buffer("uint16_t[]", r) if r.size else ffi.NULL for r in rows])
        made = ffi.new("struct mw_handle **")
        multicast.device._pointer()
        check(lib.mw_handle_create_cached(self._handle, given, numbers, made))
        return Handle(multicast, made[0], self._tokens, [array_of(v, "x").dtype for v in x], "bf16")

    def gradients(self):
        """Gradients of the gate weights that the last combine() or run() of a cached handle has brought home: a list of
        N float32 arrays [tokens][k], 0 where there is no expert. The device's experts have made them. Error: as
        mw_gate_gradients."""
        found = [np.empty((n, self._multicast.k), np.float32) for n in self._tokens]
        to = ffi.new("float *[]", [ffi.from_buffer("float[]", f) if f.size else ffi.NULL for f in found])
        self._multicast.device._pointer()
        check(lib.mw_gate_gradients(self._handle, to))
        return found

    def set(self, **behaviour):
        """Change what experts and links do: tile=16, say; names as in struct mw_layer_config. Rows are sent again."""
        for name, value in behaviour.items():
            number = flag(value, name) if name in _FLAGS else whole(value, name, UINT64)
            check(lib.mw_handle_set(self._handle, text(name, "name"), number))
        return self

    def _call(self, call, progress):
        """call(struct mw_wait_options *), which returns a code."""
        self._multicast.device._pointer()
        called(progress, "progress")
        raised = []

        def look(_, tokens, total, cycles):
            if progress:
                progress(tokens, total, cycles)
            return 0

        def stop(kind, value, _):
            raised.append(value)
            return 1

        wait = ffi.new("struct mw_wait_options *", {"size": ffi.sizeof("struct mw_wait_options")})
        looks = ffi.callback("int(void *, uint64_t, uint64_t, uint64_t)", look, error=1, onerror=stop)
        wait.progress = looks
        code = call(wait)
        if raised:
            raise raised[0]
        check(code)

    def dispatch(self, progress=None):
        """Write the data and start the dispatch: returns self while the rows are on their way. Error: as
        mw_dispatch_start."""
        self._call(lambda wait: lib.mw_dispatch_start(self._handle, wait), progress)
        return self

    def wait(self, progress=None):
        """Wait until the experts have received all rows. Error: as mw_dispatch_wait."""
        cycles = ffi.new("uint64_t *")
        self._call(lambda wait: lib.mw_dispatch_wait(self._handle, wait, cycles), progress)
        self.cycles = cycles[0]
        return self

    def counts(self):
        """Rows that each expert receives, an array [experts]. The device is not used."""
        return np.array([self._count(e) for e in range(self._multicast.experts)])

    def _count(self, expert):
        count = ffi.new("size_t *")
        self._multicast.device._pointer()
        check(lib.mw_received(self._handle, expert, ffi.NULL, ffi.NULL, 0, count, ffi.NULL))
        return count[0]

    def _dtype(self):
        return np.result_type(*self._dtypes) if len(set(self._dtypes)) > 1 else self._dtypes[0]

    def received(self, progress=None):
        """What each expert has received, after wait(): a list of Received, whose x is as prepare() takes it. Error: as
        mw_received."""
        if self._kind != "bf16":
            return [self._received_typed(e, progress) for e in range(self._multicast.experts)]
        found = []
        for e in range(self._multicast.experts):
            count = self._count(e)
            bits = np.empty((count, self._multicast.hidden), np.uint16)
            place = np.empty(count, _ROW)
            rows = ffi.from_buffer("struct mw_received_row[]", place) if count else ffi.NULL
            x = ffi.from_buffer("uint16_t[]", bits) if count else ffi.NULL
            number = ffi.new("size_t *")
            self._call(lambda wait: lib.mw_received(self._handle, e, rows, x, count, number, wait), progress)
            found.append(Received(like(bits, self._dtype()), *(place[n].copy() for n in _ROW.names)))
        return found

    def _received_typed(self, expert, progress):
        kind = self._kind
        count = self._count(expert)
        codes, scales, groups = _shapes(kind, self._multicast.hidden)
        x, of_rows = np.empty((count, codes), np.uint8), np.empty((count, scales), np.float32)
        of_groups = np.empty((count, groups), np.uint8)
        place = np.empty(count, _ROW)
        number = ffi.new("size_t *")
        if count:
            rows = ffi.from_buffer("struct mw_received_row[]", place)
            to = _typed([x], [of_rows], [of_groups])
            self._call(lambda wait: lib.mw_received_typed(self._handle, expert, rows, to, count, number, wait),
                       progress)
        found = {"e4m3": (x, of_rows), "nvfp4": (x, of_groups, of_rows)}.get(kind, x)
        return Received(found, *(place[n].copy() for n in _ROW.names))

    def combine(self, progress=None, y=None):
        """Run what is left of the layer: a list of N arrays [tokens][hidden], in the type that x had (float32
        where that was no float).

        y: the results of the experts, a list of arrays [rows][hidden] in the order of received(), multiplied by their
        weights; without it the device's emulated experts run. Error: as mw_combine and mw_expert_output.
        """
        if y is not None:
            self._write(y, progress)
        return self._run(lib.mw_combine, progress)

    def run(self, progress=None):
        """The whole layer as one program, dispatch, experts and combine overlapped: results as those of combine().
        Error: as mw_layer_run."""
        return self._run(lib.mw_layer_run, progress)

    def _write(self, y, progress):
        experts, hidden = self._multicast.experts, self._multicast.hidden
        if len(y) != experts:
            raise ValueError(f"y: {len(y)} parts for {experts} experts")
        bits = [bits_of(v, f"y of expert {e}") for e, v in enumerate(y)]
        for e, b in enumerate(bits):
            if b.shape != (self._count(e), hidden):
                raise ValueError(f"y of expert {e}: shape {b.shape}, not ({self._count(e)}, {hidden})")
        for e, b in enumerate(bits):
            rows = ffi.from_buffer("uint16_t[]", b) if b.size else ffi.NULL
            self._call(lambda wait: lib.mw_expert_output(self._handle, e, rows, wait), progress)

    def _run(self, call, progress):
        bits = [np.empty((n, self._multicast.hidden), np.uint16) for n in self._tokens]
        out = ffi.new("uint16_t *[]", [ffi.from_buffer("uint16_t[]", b) if b.size else ffi.NULL for b in bits])
        cycles = ffi.new("uint64_t *")
        self._call(lambda wait: call(self._handle, out, wait, cycles), progress)
        self.cycles = cycles[0]
        return [like(b, d) for b, d in zip(bits, self._dtypes)]
