"""How constants are written: no value changes on its way into C."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapcli.emit.text import array, constant_bytes, struct
from snapcli.fixedpoint import (
    FullyConnectedS8,
    OutputS8,
    QuantizeF32S8,
    Standardize,
    concatenation_of,
    pad_of,
    transpose_copy,
)
from snapcli.graph import read_tflite
from snapcli.graph.operators import OPERATORS

from ...golden.c_runner import FLAGS
from ...golden.random_models import random_model


@given(st.sampled_from(["int8", "uint8", "int16", "uint16", "int32", "uint32"]), st.data())
def test_every_value_is_written_as_it_is(dtype: str, data: st.DataObject) -> None:
    limits = np.iinfo(dtype)
    items = st.integers(int(limits.min), int(limits.max))
    values = np.array(data.draw(st.lists(items, min_size=1, max_size=60)), dtype)
    text = array("name", values)
    head, _, body = text.partition("{")
    assert head == f"static const {dtype}_t name[{len(values)}] = "
    numbers = body.replace("INT32_MIN", str(-(2**31)))
    found = re.findall(r"-?(?:0x[0-9a-f]{8}|\d+)", numbers)
    assert [int(n, 0) for n in found] == values.tolist()
    assert ("0x" in body) == (dtype == "uint32")
    assert max(map(len, text.splitlines())) <= 100


def test_the_smallest_int32_is_no_negated_literal() -> None:
    """In C 2147483648 does not fit an int, so -2147483648 is not an int."""
    assert "INT32_MIN" in array("name", np.array([-(2**31)], np.int32))


def test_a_type_that_c_does_not_know_here_is_refused() -> None:
    with pytest.raises(KeyError):
        array("name", np.zeros(3))


def test_a_struct_has_the_fields_of_its_dataclass_and_its_arrays_in_front() -> None:
    head = Standardize(np.array([7, 8], np.int32), np.array([-1, 1], np.int32), -3)
    text = struct(head, "before", {"offset": "elsewhere"})
    assert "const int32_t before_mantissa[2]" in text
    assert "before_offset" not in text
    assert "const struct snapuq_standardize before = {" in text
    members = [line.strip() for line in text.splitlines() if line.startswith("    .")]
    assert members == [".mantissa = before_mantissa,", ".offset = elsewhere,", ".shift = -3,"]


def test_constants_are_counted_through_nested_parameters() -> None:
    weights = np.zeros((6, 27), np.int8)
    per_channel = np.zeros(6, np.int32)
    out = OutputS8(per_channel, per_channel, per_channel.astype(np.int8), 0, -128, 127)
    # int8 weights; a bias, a mantissa and a shift per output channel.
    assert constant_bytes(FullyConnectedS8(27, 6, 0, weights, out)) == 27 * 6 + (4 + 4 + 1) * 6


def members(text: str) -> dict[str, str]:
    return dict(re.findall(r"^    \.(\w+) = (.*),$", text, flags=re.MULTILINE))


def test_a_tuple_of_numbers_is_an_array_inside() -> None:
    text = struct(transpose_copy((5, 4, 3), (2, 0, 1)), "turn", {})
    assert "const struct snapuq_copy_s8 turn = {" in text
    assert members(text) == {
        "count": "{1, 1, 3, 20}",
        "in_step": "{0, 0, 1, 3}",
        "out_step": "{0, 0, 20, 1}",
        "in_start": "0",
        "out_start": "0",
    }


def test_a_tuple_of_structs_is_an_array_in_front() -> None:
    joined = concatenation_of([(2, 3), (2, 1)], 1)
    text = struct(joined, "both", {})
    assert members(text) == {"inputs": "2", "copies": "both_copies"}
    front, _, _ = text.partition("const struct snapuq_concatenation_s8 both")
    assert "static const struct snapuq_copy_s8 both_copies[2] = {" in front
    rows = [line for line in front.splitlines() if line.startswith("    {")]
    assert rows[1] == "    {{1, 1, 1, 2}, {0, 0, 0, 1}, {0, 0, 0, 4}, 0, 3},"
    # Four axes of a count and two steps, two starts; four bytes each.
    assert constant_bytes(joined) == 2 * 14 * 4
    assert constant_bytes(joined.copies[0]) == 0


def test_a_struct_within_a_struct_stays_inside() -> None:
    text = struct(pad_of((2, 2), ((1, 0), (0, 0)), -3), "frame", {})
    assert members(text)["copy"] == "{{1, 1, 1, 4}, {0, 0, 0, 1}, {0, 0, 0, 1}, 0, 2}"


@given(st.floats(width=32, min_value=2.0**-140, max_value=2.0**127))
def test_a_float_is_written_exactly(scale: float) -> None:
    text = struct(QuantizeF32S8(1, scale, 0), "ends", {})
    literal = members(text)["scale"]
    assert re.fullmatch(r"0x[01](\.[0-9a-f]+)?p[+-]\d+f", literal)
    assert float.fromhex(literal.removesuffix("f")) == scale


def test_a_round_float_has_no_trailing_zeros() -> None:
    assert ".scale = 0x1.8p-3f," in struct(QuantizeF32S8(1, 0.1875, 0), "ends", {})
    assert ".scale = 0x1p+0f," in struct(QuantizeF32S8(1, 1.0, 0), "ends", {})


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs cc")
def test_the_parameters_of_every_operator_compile(tmp_path: Path) -> None:
    """Each dataclass has the fields of its C struct, in types that fit."""
    layers = [layer for seed in range(60) for layer in read_tflite(random_model(seed)).layers]
    assert {layer.operator for layer in layers} == {*OPERATORS}
    source = tmp_path / "layers.c"
    structs = (struct(layer.kernel, f"layer_{k}", {}, False) for k, layer in enumerate(layers))
    source.write_text('#include "snapuq.h"\n' + "".join(structs))
    command = ["cc", *FLAGS, "-Wconversion", "-fsyntax-only", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.stderr == ""
    assert done.returncode == 0
