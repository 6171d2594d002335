"""with_outputs: the same file with a longer list of outputs."""

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from hypothesis import given, settings
from hypothesis import strategies as st

from snapcli.errors import ArtifactError
from snapcli.graph import read_tflite
from snapcli.graph.extra_outputs import outputs_of, with_outputs
from snapcli.graph.reader import operator_names

from ...golden import tflite_op as op
from ...golden.random_models import random_model
from ..tiny_monitor import INPUT_SHAPE, random_inputs, tiny_ops, tiny_tflite


def by_schema(content: bytes) -> list[int]:
    """Outputs as the schema's own code reads them."""
    return [int(i) for i in schema.Model.GetRootAs(content, 0).Subgraphs(0).OutputsAsNumpy()]


def tensor_count(content: bytes) -> int:
    return int(schema.Model.GetRootAs(content, 0).Subgraphs(0).TensorsLength())


def last_only() -> bytes:
    """The tiny model as a file that gives its logits alone."""
    return op.flatbuffer(tiny_ops(), {"logits": 4})


@given(seed=st.integers(0, 30), data=st.data())
@settings(max_examples=60, deadline=None)
def test_the_list_grows_and_every_other_byte_stays(seed: int, data: st.DataObject) -> None:
    content = random_model(seed, 6)
    chosen = st.lists(st.integers(0, tensor_count(content) - 1), max_size=8)
    indices = data.draw(chosen)
    before = by_schema(content)
    patched = with_outputs(content, indices)
    # The model's own outputs keep their places, the others follow once each, as they were given.
    new = [i for i in dict.fromkeys(indices) if i not in before]
    assert by_schema(patched) == [*before, *new] == list(outputs_of(patched))
    assert with_outputs(patched, indices) == patched
    if not new:
        assert patched == content
        return
    different = [k for k, byte in enumerate(content) if patched[k] != byte]
    assert len(different) <= 4
    assert max(different) - min(different) < 4
    added = len(patched) - len(content)
    assert added - 4 * (1 + len(before) + len(new)) in range(4)


def test_all_at_once_is_one_after_the_other_but_for_the_lists_left_behind() -> None:
    content = last_only()
    at_once = with_outputs(content, [3, 6, 0])
    in_turn = with_outputs(with_outputs(content, [3]), [6, 0])
    assert by_schema(at_once) == by_schema(in_turn)


def test_the_object_api_reads_the_same_model() -> None:
    """Tensors, operators, buffers and signature are those from before."""
    content = last_only()
    before, after = (
        schema.ModelT.InitFromObj(schema.Model.GetRootAs(c, 0))
        for c in (content, with_outputs(content, [1, 4]))
    )
    after.subgraphs[0].outputs = before.subgraphs[0].outputs
    assert op.packed(after) == op.packed(before)


def test_litert_gives_the_tensors_behind_the_logits() -> None:
    content, x = last_only(), random_inputs(3)
    graph = read_tflite(content)
    names = [layer.target for layer in graph.layers]
    indices = [graph.tensors[name].index for name in names]
    assert None not in indices
    patched = with_outputs(content, indices)  # type: ignore[arg-type]
    found = graph.run(x, names)
    interpreter = Interpreter(
        model_content=patched, experimental_op_resolver_type=OpResolverType.BUILTIN_REF
    )
    interpreter.allocate_tensors()
    details = interpreter.get_output_details()
    assert len(details) == len(names)
    shown = {d["index"]: name for name, d in zip([names[-1], *names[:-1]], details, strict=True)}
    for k in range(len(x)):
        interpreter.set_tensor(0, x[k].reshape(1, *INPUT_SHAPE))
        interpreter.invoke()
        for index, name in shown.items():
            got = interpreter.get_tensor(index).reshape(found[name][k].shape)
            np.testing.assert_array_equal(got, found[name][k], err_msg=name)
    # The signature still names what it named before.
    (signature,) = interpreter.get_signature_list().values()
    assert signature["outputs"] == ["logits"]


def test_our_own_reader_takes_the_patched_file() -> None:
    content = last_only()
    before = read_tflite(content)
    stem, spatial = (before.tensors[layer.target].index for layer in before.layers[:2])
    assert stem is not None
    assert spatial is not None
    after = read_tflite(with_outputs(content, [spatial, stem]))
    given = [after.tensors[name].index for name in after.outputs.values()]
    assert given == [before.tensors["logits"].index, spatial, stem]


@pytest.mark.parametrize("index", [-1, 10_000])
def test_a_tensor_that_is_not_there_is_refused(index: int) -> None:
    with pytest.raises(ArtifactError, match=f"no tensor {index}"):
        with_outputs(tiny_tflite(), [index])


def test_what_is_no_tflite_is_refused() -> None:
    with pytest.raises(ArtifactError, match="not a"):
        with_outputs(b"something else", [0])


def test_a_model_without_outputs_is_refused() -> None:
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(tiny_tflite(), 0))
    model.subgraphs[0].outputs = None
    with pytest.raises(ArtifactError, match="has no outputs"):
        with_outputs(op.packed(model), [1])


@given(cut=st.integers(8, len(last_only()) - 1))
@settings(max_examples=80, deadline=None)
def test_a_file_that_was_cut_short_is_refused_or_gets_its_outputs(cut: int) -> None:
    """Its tables may all be in front of the cut; then the patch is still right."""
    content = last_only()[:cut]
    try:
        patched = with_outputs(content, [1])
    except ArtifactError:
        return
    assert outputs_of(patched)[-1] == 1


@given(at=st.integers(0, len(last_only()) - 1), value=st.integers(0, 255))
@settings(max_examples=200, deadline=None)
def test_a_changed_byte_ends_in_nothing_worse_than_a_refusal(at: int, value: int) -> None:
    content = bytearray(last_only())
    content[at] = value
    try:
        patched = with_outputs(bytes(content), [1])
    except ArtifactError:
        return
    assert len(patched) >= len(content)


def test_operators_are_those_of_the_file_each_once() -> None:
    expected = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "MEAN")
    assert operator_names(tiny_tflite()) == expected
