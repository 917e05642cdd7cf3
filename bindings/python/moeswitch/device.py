# SPDX-License-Identifier: Apache-2.0
"""Devices: opening, closing, what they are, what they counted."""
from ._arguments import flag, text, whole
from ._library import Local, check, ffi, lib, plain
from .layer import DyMulticast

_OPTIONS = {"serial": text, "timeout_ms": whole, "link_latency": whole, "small": flag, "fst": text, "model": text,
            "backend": text}


class Device(Local):
    """A device, opened and reset; a context manager, which closes it.

    transport: "sim", the Verilated model in this process, or "usb"; gpus, flit_bytes: 2 to 72 and 8 or 16, on usb 0 for
    what it has. The keywords are the fields of struct mw_open_options. Errors: Error, with the codes of mw_open;
    TypeError and ValueError, with the argument's name. A model that is missing is not built: the message of
    MW_ERR_NODEV names the command that does.

    A device belongs to the process that opened it. In a forked child every call for it but close() raises Error
    (MW_ERR_STATE); a child, forked or spawned, opens a Device of its own.
    """

    def __init__(self, gpus=8, flit_bytes=16, transport="sim", **options):
        unknown = sorted(set(options) - set(_OPTIONS))
        if unknown:
            raise TypeError(f"Device has no option {unknown[0]}; there are {', '.join(sorted(_OPTIONS))}")
        o = ffi.new("struct mw_open_options *")
        lib.mw_open_defaults_of(o, ffi.sizeof("struct mw_open_options"))
        keep = []  # what the struct points to, until it has been read

        def put(name, value, check_it):
            value = check_it(value, name)
            if isinstance(value, bytes):
                value = ffi.new("char[]", value)
                keep.append(value)
            setattr(o, name, value)

        put("gpus", gpus, whole)
        put("flit_bytes", flit_bytes, whole)
        put("transport", transport, text)
        for name, value in options.items():
            if value is not None:
                put(name, value, _OPTIONS[name])
        opened = ffi.new("struct mw_device **")
        check(lib.mw_open(o, opened))
        self._device = ffi.gc(opened[0], lib.mw_close)
        self.gpus = self.info()["gpus"]

    def _pointer(self):
        if self._device is None:
            raise ValueError("the device is closed")
        return self._device

    def close(self):
        """Close it, whatever it does. Objects and handles of it are of no use then. May be called again."""
        device, self._device = self._device, None
        if device is not None:
            ffi.release(device)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def reset(self):
        """Reset it: the only way on after a layer was canceled that ran."""
        check(lib.mw_reset(self._pointer()))

    def _struct(self, kind, call):
        s = ffi.new(f"struct {kind} *")
        check(call(self._pointer(), s))
        return plain(s[0])

    def info(self):
        """Sizes, as a dict of struct mw_device_info."""
        return self._struct("mw_device_info", lib.mw_info)

    def simulation(self):
        """What the model was made of, as a dict of struct mw_simulation."""
        return self._struct("mw_simulation", lib.mw_simulation_info)

    def counters(self):
        """Counters of the last layer: a dict of struct mw_counters, `port` and `gpu` a list of N dicts."""
        s = ffi.new("struct mw_counters *")
        check(lib.mw_counters_read(self._pointer(), s))
        found = plain(s[0])
        for part in ("port", "gpu"):
            found[part] = [plain(p) for p in found[part][: self.gpus]]
        return found

    def partition(self, gpu, reachable):
        """Set the ports that a GPU may reach, by their numbers. After opening: all."""
        gpu = whole(gpu, "gpu", self.gpus - 1)
        ports = ffi.new("struct mw_gpu_set *")
        for port in reachable:
            port = whole(port, "reachable", self.gpus - 1)
            ports.word[port // 32] |= 1 << port % 32
        check(lib.mw_partition_set_wide(self._pointer(), gpu, ports))

    def ports_down(self):
        """Numbers of the ports that are down."""
        down = ffi.new("struct mw_gpu_set *")
        check(lib.mw_ports_down_wide(self._pointer(), down))
        return [port for port in range(self.gpus) if down.word[port // 32] >> port % 32 & 1]

    def dymulticast(self, hidden, experts, k, tokens, rows_per_expert=None, gpu_of_expert=None, dispatch_type="bf16",
                    cached_handles=False, gate_gradients=False):
        """A DyMulticast of this device, bound."""
        return DyMulticast(self, hidden, experts, k, tokens, rows_per_expert, gpu_of_expert, dispatch_type,
                           cached_handles, gate_gradients)
