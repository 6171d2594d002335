"""The numbers of our schema against the one that LiteRT generates."""

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as generated

from snapcli.graph import schema
from snapcli.graph.flatbuffer import Buffer
from snapcli.graph.schema import Record, read_model

from ...golden import tflite_op as op


def test_operators_have_their_codes() -> None:
    for code, (kind, options) in schema.OPERATORS.items():
        assert getattr(generated.BuiltinOperator, kind) == code
        assert options == "NoOptions" or hasattr(generated, options)
    assert generated.BuiltinOperator.CUSTOM == schema.CUSTOM


def test_types_have_their_codes() -> None:
    for code, name in schema.TYPES.items():
        assert getattr(generated.TensorType, name.upper()) == code


def test_options_are_read_as_they_were_written() -> None:
    """Each field of each options table gets a number of its own."""
    seen = 0
    for code, (kind, options) in schema.OPERATORS.items():
        if options == "NoOptions":
            continue
        table = getattr(generated, f"{options}T")()
        expected = {}
        for k, (name, value) in enumerate(sorted(vars(table).items())):
            if value is None:
                new: object = [k, 7]
            elif isinstance(value, bool):
                new = not value
            elif isinstance(value, float):
                new = k + 0.5
            else:
                new = k + 2
            if not name.startswith(("quantizedBias", "quantSpec")):
                setattr(table, name, new)
                expected[name] = new
        made = op.OneOp(code, 1, getattr(generated.BuiltinOptions, options), table, op.Tensor([1]))
        made.inputs = [op.Tensor([1])]
        content = op.flatbuffer([made], {"out": 0})
        (graph,) = read_model(Buffer(content)).subgraphs
        found = graph.operators[0].options(options)
        for ours in schema._TABLES[options]:
            theirs = THEIRS.get(ours) or _camel(ours)
            np.testing.assert_array_equal(getattr(found, ours), expected[theirs], err_msg=kind)
            seen += 1
    assert seen > 50


THEIRS = {
    "activation": "fusedActivationFunction",
    "dilation_h": "dilationHFactor",
    "dilation_w": "dilationWFactor",
    "filter_h": "filterHeight",
    "filter_w": "filterWidth",
}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def test_a_table_that_is_left_out_has_its_defaults() -> None:
    options = Record("Conv2DOptions", None)
    assert not options
    assert (options.stride_h, options.dilation_h) == (0, 1)
    assert Record("Tensor", None).name == ""
    assert Record("Model", None).subgraphs == []
    assert Record("Tensor", None).shape.tolist() == []
    assert not Record("Tensor", None).quantization


def test_a_field_that_we_do_not_read_has_no_name() -> None:
    with pytest.raises(AttributeError, match="Model has no field description"):
        _ = Record("Model", None).description
