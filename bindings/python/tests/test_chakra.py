# SPDX-License-Identifier: Apache-2.0
"""Chakra traces by MLCommons' own package: what it writes `moeswitch plan` reads, and what that writes it reads."""
import os
import subprocess
import tempfile
import unittest

from chakra.schema.protobuf import et_def_pb2 as schema
from chakra.src.third_party.utils import protolib

PLAN = ("plan --model mixtral-8x7b --hardware hgx-h100 --goal prefill --system dysharp --top 1 --quiet --chakra-ranks 8"
        .split())
MILLION = 1_000_000


def collective(number, kind, size):
    """A node that has every field of the schema, and its numbers as Chakra's converters write them."""
    node = schema.Node(id=number, name=f"collective {number}", type=schema.COMM_COLL_NODE, ctrl_deps=[1],
                       data_deps=[1, 2], start_time_micros=77, duration_micros=3)
    node.inputs.values, node.outputs.types = "[1]", "['Tensor']"
    node.attr.append(schema.AttributeProto(name="is_cpu_op", bool_val=False))
    node.attr.append(schema.AttributeProto(name="comm_type", int64_val=kind))
    node.attr.append(schema.AttributeProto(name="comm_size", int64_val=size))
    node.attr.append(schema.AttributeProto(name="pg_name", string_val="7"))
    node.attr.append(schema.AttributeProto(name="weights", double_list=schema.DoubleList(values=[0.5, 2])))
    return node


def point_to_point(number, kind):
    node = schema.Node(id=number, name="point", type=kind)
    node.attr.append(schema.AttributeProto(name="comm_size", uint64_val=MILLION))
    return node


def nodes():
    yield schema.Node(id=1, name="matmul", type=schema.COMP_NODE, duration_micros=40)
    yield collective(2, schema.ALL_TO_ALL, MILLION)
    yield collective(3, schema.ALL_TO_ALL, 100 * MILLION)
    yield collective(4, schema.ALL_REDUCE, 100 * MILLION)
    yield collective(5, schema.ALL_GATHER, 100 * MILLION)
    yield collective(6, schema.BARRIER, 0)
    yield point_to_point(7, schema.COMM_SEND_NODE)
    yield point_to_point(8, schema.COMM_RECV_NODE)
    yield schema.Node(id=9, name="weights", type=schema.MEM_LOAD_NODE)


class Traces(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.given, self.made = (os.path.join(folder.name, name) for name in ("given.et", "made.et"))

    def run_plan(self, messages):
        with open(self.given, "wb") as f:
            protolib.encodeMessage(f, schema.GlobalMetadata(version="0.0.4"))
            for m in messages:
                protolib.encodeMessage(f, m)
        return subprocess.run([os.environ["MOESWITCH_TOOL"], *PLAN, "--chakra", self.given, "--chakra-out", self.made],
                              capture_output=True, text=True)

    def read(self):
        metadata, found = schema.GlobalMetadata(), []
        with open(self.made, "rb") as f:
            self.assertTrue(protolib.decodeMessage(f, metadata))
            while protolib.decodeMessage(f, node := schema.Node()):
                found.append(node)
        self.assertEqual(metadata.version, "0.0.4")
        return found

    def test_times(self):
        done = self.run_plan(nodes())
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        found, timed = self.read(), {}
        for old, new in zip(nodes(), found, strict=True):
            if old.type in (schema.COMM_COLL_NODE, schema.COMM_SEND_NODE, schema.COMM_RECV_NODE):
                timed[old.id] = old.duration_micros = new.duration_micros
            self.assertEqual(old, new)
        self.assertTrue(all(0 < t < 10_000 for t in timed.values()), timed)
        self.assertGreater(timed[3], 20 * timed[2])
        self.assertAlmostEqual(timed[4], 2 * timed[5], delta=2)
        self.assertEqual(timed[7], timed[8])

    def test_unknown_kinds(self):
        done = self.run_plan([*nodes(), schema.Node(id=10, name="odd", type=99)])
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("node 10 (odd): a node of unknown kind", done.stderr)
        done = self.run_plan([collective(11, 12, MILLION)])
        self.assertEqual(done.returncode, 2)
        self.assertIn("node 11 (collective 11): a collective of unknown kind", done.stderr)
        self.assertFalse(os.path.exists(self.made))


if __name__ == "__main__":
    unittest.main()
