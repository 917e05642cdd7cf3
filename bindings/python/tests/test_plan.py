# SPDX-License-Identifier: Apache-2.0
"""moeswitch.plan: the same figures as the tool's, its messages as exceptions, a tool that is missing."""
import json
import os
import subprocess
import unittest
from unittest import mock

import moeswitch

OPTIONS = {"goal": "prefill", "top": 3, "system": ["unicast", "dysharp"], "overlap_batches": True, "tp": None}
WORDS = ("plan --model mixtral-8x7b --hardware hgx-h100 --goal prefill --top 3 --system unicast,dysharp "
         "--overlap-batches --json -")


class Plans(unittest.TestCase):
    def test_is_the_tools(self):
        done = subprocess.run([os.environ["MOESWITCH_TOOL"], *WORDS.split()], check=True, capture_output=True)
        found = moeswitch.plan("mixtral-8x7b", "hgx-h100", **OPTIONS)
        self.assertEqual(found, json.loads(done.stdout))
        self.assertEqual(len(found["configurations"]), 3)
        self.assertEqual([s["system"] for s in found["systems"]], ["unicast", "dysharp"])

    def test_bad_input(self):
        with self.assertRaisesRegex(ValueError, "^--tp 3: does not divide 32 heads$"):
            moeswitch.plan("mixtral-8x7b", "hgx-h100", tp=3)
        with self.assertRaisesRegex(ValueError, "fits 5.0 GB"):
            moeswitch.plan("mixtral-8x7b", "hgx-h100", memory=5)

    def test_values_that_no_option_has(self):
        for options, message in (({"gpus": True}, "--gpus"), ({"batch": [1, 2]}, "--batch 1,2"),
                                 ({"help": True}, "^help: no option"), ({"json": "x"}, "^json: no option")):
            with self.subTest(options), self.assertRaisesRegex(ValueError, message):
                moeswitch.plan("mixtral-8x7b", "hgx-h100", **options)

    def test_no_tool(self):
        with mock.patch.dict(os.environ, MOESWITCH_TOOL="/nowhere/moeswitch"), self.assertRaises(OSError):
            moeswitch.plan("mixtral-8x7b", "hgx-h100")
        with mock.patch.dict(os.environ, MOESWITCH_TOOL="/bin/false"), self.assertRaisesRegex(OSError, "status 1"):
            moeswitch.plan("mixtral-8x7b", "hgx-h100")


if __name__ == "__main__":
    unittest.main()
