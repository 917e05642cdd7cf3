# SPDX-License-Identifier: Apache-2.0
"""What ends a translation."""
import sys


def fail(text):
    sys.exit(f"{sys.argv[0]}: {text}; is this another version of Verilator than requirements.txt has?")
