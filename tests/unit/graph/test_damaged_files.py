"""Files that are damaged or made to do harm: read or refused, quickly, with a SnapError alone."""

import struct
import time
import tracemalloc
from typing import Any

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from benchmarks import fuzz_reader

from snapcli.errors import ArtifactError
from snapcli.graph import read_tflite
from snapcli.graph.operators import OPERATORS

from ...golden.random_models import random_model
from ...golden.tflite_op import packed

pytestmark = pytest.mark.slow

FILES = 3000


def test_a_few_thousand_mutated_files_are_read_or_refused() -> None:
    rng = np.random.default_rng(77)
    outcome = fuzz_reader.Outcome()
    for _ in range(FILES):
        fuzz_reader.feed(fuzz_reader.mutated(rng), outcome)
    assert outcome.read + outcome.refused == FILES
    # Weights may take any value and offsets may not: both outcomes have to occur often.
    assert min(outcome.read, outcome.run, outcome.refused) > FILES // 20
    assert outcome.slowest_ms < 1000 * fuzz_reader.SECONDS_MAX


def test_the_models_that_are_damaged_have_every_operator() -> None:
    found = {
        layer.operator for file in fuzz_reader.originals() for layer in read_tflite(file).layers
    }
    assert found == {*OPERATORS}


def test_every_cut_of_a_file_is_read_or_refused() -> None:
    content = random_model(3)
    outcome = fuzz_reader.Outcome()
    for cut in range(0, len(content), 7):
        fuzz_reader.feed(content[:cut], outcome)
    assert outcome.refused > len(content) // 8


def assert_cheap(content: bytes, message: str) -> None:
    tracemalloc.start()
    started = time.process_time()  # of this process alone: others may keep the machine busy
    with pytest.raises(ArtifactError, match=message):
        read_tflite(content)
    seconds, (_, peak) = time.process_time() - started, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seconds < 5
    assert peak < 100 * 2**20


def model_with(count: int, field: int) -> bytes:
    """A Model whose vector `field` has so many entries, all leading to the same empty table."""
    vtable = struct.pack("<2H8H", 20, 8, *(4 if k == field else 0 for k in range(8)))
    root = 8 + len(vtable)
    head = struct.pack("<I4s", root, b"TFL3") + vtable
    table = struct.pack("<iI", len(vtable), 4)
    empty = struct.pack("<2Hi", 4, 4, 4)
    entries = b"".join(struct.pack("<I", 4 * (count - k) + 4) for k in range(count))
    return head + table + struct.pack("<I", count) + entries + empty


@pytest.mark.parametrize("field", [1, 2, 4, 7])
def test_many_references_to_one_table_are_cheap(field: int) -> None:
    assert_cheap(model_with(250_000, field), r"subgraphs|too often|a vector of 250000 tables")


def test_a_count_without_entries_is_cheap() -> None:
    content = bytearray(model_with(10, 2))
    at = content.index(struct.pack("<I", 10), 36)
    content[at : at + 4] = b"\xff\xff\xff\x7f"
    assert_cheap(bytes(content), "damaged")


def huge(change: Any) -> bytes:
    model = schema.ModelT.InitFromPackedBuf(random_model(0), 0)
    change(model, model.subgraphs[0])
    return packed(model)


def test_a_huge_activation_is_cheap() -> None:
    def change(model: Any, graph: Any) -> None:
        graph.tensors[graph.inputs[0]].shape = [1, 2**15, 2**15, 2**15]

    assert_cheap(huge(change), "bytes")


def test_names_that_share_their_bytes_are_cheap() -> None:
    """Two hundred tensors of the same long name."""

    def change(model: Any, graph: Any) -> None:
        graph.tensors[0].name = "n" * 1_000_000
        for operator in graph.operators:
            graph.tensors[operator.outputs[0]].name = "n" * 1_000_000

    graph = read_tflite(huge(change))
    assert max(map(len, graph.tensors)) < 80
