# SPDX-License-Identifier: Apache-2.0
"""Arguments that are one number, flag or text: checked by name before the library gets them, which C would cut."""
import operator
import os

import numpy as np

UNSIGNED = 2**32 - 1  #: the most that C's unsigned holds
UINT64 = 2**64 - 1


def whole(value, what, most=UNSIGNED):
    """An int in 0 .. most. Floats that are whole numbers are taken; bools, texts and masked values are none."""
    if isinstance(value, (bool, np.bool_, np.ma.MaskedArray)):
        raise TypeError(f"{what}: {type(value).__name__} is no whole number")
    if isinstance(value, (float, np.floating)):
        if not np.isfinite(value) or value != np.floor(value):
            raise ValueError(f"{what}: {value} is no whole number")
        value = int(value)
    try:
        value = operator.index(value)
    except TypeError:
        raise TypeError(f"{what}: {type(value).__name__} is no whole number") from None
    if not 0 <= value <= most:
        raise ValueError(f"{what}: {value}, expected 0 to {most}")
    return value


def flag(value, what):
    """True, False, or 1 and 0 for them."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)) and value in (0, 1):
        return bool(value)
    raise TypeError(f"{what}: {value!r}, expected True or False")


def text(value, what):
    """A text or path as bytes, for C."""
    if not isinstance(value, (str, bytes, os.PathLike)):
        raise TypeError(f"{what}: {type(value).__name__} is no text")
    value = os.fsencode(value)
    if b"\0" in value:
        raise ValueError(f"{what}: a NUL in {value!r}")
    return value


def called(value, what):
    """A function, or None."""
    if value is not None and not callable(value):
        raise TypeError(f"{what}: {type(value).__name__} cannot be called")
    return value
