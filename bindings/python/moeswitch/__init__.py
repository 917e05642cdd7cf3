# SPDX-License-Identifier: Apache-2.0
"""A moeswitch, simulated or on USB, from Python: dispatch and combine of MoE layers with NumPy arrays.

The words are those of moeswitch.h, which says more about each: a Device has N GPUs; a DyMulticast maps the tokens of
a layer into their memories; dispatch() sends a layer's rows to their experts, combine() returns the output rows. run()
is both in one program. plan() predicts the step of a whole model.
"""
from ._cdef import VERSION as __version__
from ._library import Error
from ._plan import plan
from .device import Device
from .layer import DyMulticast, Handle, Received

__all__ = ["Device", "DyMulticast", "Error", "Handle", "Received", "plan", "__version__"]
