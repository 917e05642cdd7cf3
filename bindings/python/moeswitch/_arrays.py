# SPDX-License-Identifier: Apache-2.0
"""NumPy arrays as the library takes them: bf16 is uint16 there, which NumPy itself does not have.

Hidden values may be float32 or float64, which are rounded to the nearest bf16 (ties to even), uint16, which are the
bits of bf16, or another type named bfloat16, as ml_dtypes and with it JAX has one.
"""
import numpy as np


def is_bits(dtype):
    return dtype == np.uint16 or dtype.name == "bfloat16"


def to_bf16(values):
    """bf16 of float32 (of others, rounded to it), as uint16. NaN stays NaN."""
    single = np.ascontiguousarray(values, np.float32)
    bits = single.view(np.uint32)
    # 0x7fff, and one more if the last bit that stays is odd: ties to even
    rounded = (bits + (np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))) >> np.uint32(16)
    quiet = (bits >> np.uint32(16)) | np.uint32(0x40)
    return np.where(np.isnan(single), quiet, rounded).astype(np.uint16)


def from_bf16(bits):
    """float32 of bf16 as uint16, exactly."""
    return (np.ascontiguousarray(bits, np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)


def bits_of(values, what):
    """An array of hidden values or coefficients as contiguous uint16."""
    values = np.asarray(values)
    if is_bits(values.dtype):
        return np.ascontiguousarray(values).view(np.uint16)
    if values.dtype.kind not in "fiu":
        raise TypeError(f"{what}: {values.dtype} is no type of hidden values (float32, uint16 with the bits of bf16)")
    return to_bf16(values)


def like(bits, dtype):
    """bf16 as uint16 in the type that a caller gave."""
    if is_bits(dtype):
        return bits.view(dtype)
    return from_bf16(bits).astype(dtype if dtype.kind == "f" else np.float32)


def experts_of(values, what):
    """Indices of experts as int16, -1 for none."""
    values = np.asarray(values)
    if values.dtype.kind not in "iu":
        raise TypeError(f"{what}: {values.dtype} is no type of indices")
    if values.size and (values.min() < -1 or values.max() > np.iinfo(np.int16).max):
        raise ValueError(f"{what}: {values.min()} to {values.max()}; an expert is 0 to {np.iinfo(np.int16).max}, "
                         "-1 none")
    return np.ascontiguousarray(values, np.int16)
