#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of corpus.py: what goes in comes out, the same inputs make the same archive, and names are checked."""
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True

import corpus  # noqa: E402

INPUTS = [b"", b"reply", b"\0\xff" * 600]


class Corpus(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.archive = self.folder / "target.tar.xz"

    def test_unpacked_as_packed(self):
        corpus.write(self.archive, {corpus.name_of(i): i for i in INPUTS})
        out = self.folder / "out"
        out.mkdir()
        (out / "of-another-archive").write_bytes(b"x")
        corpus.unpack(self.archive, out)
        self.assertEqual({f.name: f.read_bytes() for f in out.iterdir()}, {corpus.name_of(i): i for i in INPUTS})

    def test_same_archive(self):
        corpus.write(self.archive, {corpus.name_of(i): i for i in INPUTS})
        first = self.archive.read_bytes()
        corpus.write(self.archive, {corpus.name_of(i): i for i in reversed(INPUTS)})
        self.assertEqual(first, self.archive.read_bytes())

    def test_files_and_folders(self):
        folder = self.folder / "inputs"
        folder.mkdir()
        for number, data in enumerate(INPUTS):
            (folder / str(number)).write_bytes(data)
        found = corpus.inputs_of([folder, folder / "1"])
        self.assertEqual(found, {corpus.name_of(i): i for i in INPUTS})

    def test_damaged(self):
        corpus.write(self.archive, {corpus.name_of(b"one"): b"another"})
        with self.assertRaises(SystemExit):
            corpus.read(self.archive)


if __name__ == "__main__":
    unittest.main()
