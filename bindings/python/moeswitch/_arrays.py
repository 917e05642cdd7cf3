# SPDX-License-Identifier: Apache-2.0
"""NumPy arrays as the library takes them: bf16 is uint16 there, which NumPy itself does not have.

Every argument of numbers (hidden values, gate weights, coefficients) follows the same rules. uint16 holds the bits of
bf16, and so does a type named bfloat16, as ml_dtypes and with it JAX has one; integers of other widths and floats are
numbers. Byte order and memory layout do not matter. Numbers are rounded once, to the nearest value, ties to even.
"""
import numpy as np


def is_bits(dtype):
    return dtype.name == "bfloat16" or (dtype.kind == "u" and dtype.itemsize == 2)


def has_masked(values):
    """Whether an array, or one in a list, has masked elements; np.asarray would take what is below the mask."""
    if isinstance(values, np.ma.MaskedArray):
        return bool(np.ma.is_masked(values))
    return isinstance(values, (list, tuple)) and any(has_masked(v) for v in values)


def array_of(values, what):
    if has_masked(values):
        raise ValueError(f"{what}: masked elements have no value: give them one, with filled()")
    try:
        return np.asarray(values)
    except ValueError as cause:  # lists of different lengths
        raise ValueError(f"{what}: {cause}") from None


def numbers_of(values, what):
    """An array of numbers, or of the bits of bf16."""
    values = array_of(values, what)
    if not is_bits(values.dtype) and values.dtype.kind not in "fiu":
        raise TypeError(f"{what}: {values.dtype} is no type of numbers (floats, integers, uint16 with the bits of "
                        "bf16, bfloat16 of ml_dtypes)")
    return values


def native_bits(values):
    """bf16 in any type of bits, as contiguous uint16 of this machine's byte order."""
    if values.dtype.kind == "u":
        return np.ascontiguousarray(values, np.uint16)
    return np.ascontiguousarray(values).view(np.uint16)


def to_odd(values):
    """float32 of numbers: those that it does not hold become the neighbour whose last bit is 1, so that rounding the
    result to fewer bits rounds them once."""
    exact = values.astype(np.longdouble) if values.dtype.kind in "iu" else values  # 64 bits of an integer
    with np.errstate(over="ignore", invalid="ignore"):  # the latter of signaling NaN
        single = exact.astype(np.float32)
    bits = single.view(np.uint32)
    if exact.dtype.itemsize <= single.dtype.itemsize:  # a float that float32 holds
        return bits
    beyond = np.abs(single.astype(exact.dtype)) > np.abs(exact)  # rounded away from 0
    inexact = (single != exact) & ~np.isnan(exact)
    return np.where(inexact, (bits - beyond) | np.uint32(1), bits)


def to_bf16(values):
    """bf16 of numbers, as uint16. NaN stays NaN."""
    values = np.asarray(values)
    bits = to_odd(values)
    # 0x7fff, and one more if the last bit that stays is odd: ties to even
    rounded = (bits + (np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))) >> np.uint32(16)
    quiet = (bits >> np.uint32(16)) | np.uint32(0x40)
    return np.where(np.isnan(values), quiet, rounded).astype(np.uint16)


def from_bf16(bits):
    """float32 of bf16 as uint16, exactly."""
    return (np.ascontiguousarray(bits, np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)


def bits_of(values, what):
    """Hidden values or coefficients as contiguous uint16."""
    values = numbers_of(values, what)
    return native_bits(values) if is_bits(values.dtype) else np.ascontiguousarray(to_bf16(values))


def weights_of(values, what):
    """Gate weights as contiguous float32."""
    values = numbers_of(values, what)
    if is_bits(values.dtype):
        return from_bf16(native_bits(values))
    with np.errstate(over="ignore", invalid="ignore"):
        return np.ascontiguousarray(values, np.float32)


def codes_of(values, what):
    """Codes of one byte each (uint8, int8, or a type of that size such as ml_dtypes' float8_e4m3fn), as uint8."""
    values = array_of(values, what)
    if values.dtype.itemsize != 1 or values.dtype.kind == "b":
        raise TypeError(f"{what}: {values.dtype} is no type of codes (uint8, or a float of 8 bits)")
    return np.ascontiguousarray(values).view(np.uint8)


def scales_of(values, what):
    """Scales as contiguous float32: normal numbers above 0."""
    values = weights_of(values, what)
    bad = ~(np.isfinite(values) & (values >= np.finfo(np.float32).tiny))
    if bad.any():
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError(f"{what}: {values[at]} at {at}: a scale is a positive normal float32")
    return values


def group_scales_of(values, what):
    """Codes of e4m3 scales, as uint8: numbers above 0."""
    values = codes_of(values, what)
    bad = (values == 0) | (values >= 0x7F)
    if bad.any():
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError(f"{what}: 0x{values[at]:02x} at {at}: a scale is 0x01 to 0x7e, a positive e4m3")
    return values


def finite_where(values, used, what):
    """ValueError for a weight that is used and no finite float32."""
    bad = used & ~np.isfinite(values)
    if bad.any():
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError(f"{what}: {values[at]} at {at}: a weight of an expert is a finite float32")


def like(bits, dtype):
    """bf16 as uint16 in the type that a caller gave."""
    if is_bits(dtype):
        return bits.astype(dtype) if dtype.kind == "u" else bits.view(dtype)
    return from_bf16(bits).astype(dtype if dtype.kind == "f" else np.float32)


def experts_of(values, what, experts):
    """Indices of experts as contiguous int16, -1 for none. The largest number of an unsigned type stands for -1, unless
    there is an expert of that number."""
    values = array_of(values, what)
    if values.dtype.kind not in "iu":
        raise TypeError(f"{what}: {values.dtype} is no type of indices")
    none = values == -1
    largest = np.iinfo(values.dtype).max
    if values.dtype.kind == "u" and largest >= experts:
        none = values == largest
    bad = ~none & ((values < 0) | (values >= experts))
    if bad.any():
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError(f"{what}: {values[at]} at {at}; an expert is 0 to {experts - 1}, -1 none")
    return np.ascontiguousarray(np.where(none, np.int16(-1), values.astype(np.int16)), np.int16)
