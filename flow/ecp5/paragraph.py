# SPDX-License-Identifier: Apache-2.0
"""Wraps the prose of the pages that place and route write."""
import textwrap


def text(*sentences):
    """A paragraph, as lines of the page."""
    return textwrap.wrap(" ".join(sentences), 120, break_long_words=False, break_on_hyphens=False)
