# SPDX-License-Identifier: Apache-2.0
"""libmoeswitch, by cffi, and its errors as exceptions."""
import os

from cffi import FFI

from . import _cdef

LIBRARY = "libmoeswitch.so.0"

ffi = FFI()
ffi.cdef(_cdef.CDEF)


class Error(Exception):
    """A call of libmoeswitch failed. `code` is a MW_ERR_ code of errors.h, `name` its name ("MW_ERR_NODEV")."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code
        self.name = ffi.string(lib.mw_error_name(code)).decode()


class Local:
    """What is of use in the process alone that opened its device: pickle and with it multiprocessing refuse it."""

    def __reduce_ex__(self, protocol):
        raise TypeError(f"a {type(self).__name__} belongs to the process that opened its device: open a Device in the "
                        "other one")


def _open():
    """The library that MOESWITCH_LIBRARY names, or the one that is installed, of the version of this package."""
    name = os.environ.get("MOESWITCH_LIBRARY") or LIBRARY
    try:
        found = ffi.dlopen(name)
    except OSError as cause:
        raise ImportError(f"{cause}: install the package moeswitch, or run `make install` in its sources, or set "
                          "MOESWITCH_LIBRARY to the library's file") from None
    version = ffi.string(found.mw_version()).decode()
    if version.split(".")[:2] != _cdef.VERSION.split(".")[:2]:
        raise ImportError(f"{name} is version {version}, and this package is for {_cdef.VERSION}: install those of the "
                          "same version")
    return found


lib = _open()


def check(code):
    """The code of a call, where it is not negative; else Error with what the library says."""
    if code < 0:
        text, more = (ffi.string(s).decode(errors="replace") for s in (lib.mw_strerror(code), lib.mw_message()))
        raise Error(code, f"{text}: {more}" if more else text)
    return code


def plain(struct):
    """A struct of numbers, flags and texts as a dict."""
    found = {}
    for name, _ in ffi.typeof(struct).fields:
        value = getattr(struct, name)
        if isinstance(value, ffi.CData):
            kind = ffi.typeof(value)
            text = kind.kind == "array" and kind.item.cname == "char"
            value = ffi.string(value).decode(errors="replace") if text else list(value)
        found[name] = value
    return found
