"""MLPerf Tiny's reference models, where they lie beside the checkout, against TFLite's kernels."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from snapcli.graph import Graph, read_tflite

MODELS = Path(__file__).parents[3].parent / "shared" / "models"
# Softmax outputs of TFLite-Micro with CMSIS-NN for the input below, from their own run.
PUBLISHED = {
    "kws_ref_model": [-128] * 9 + [110, -128, -110],
    "pretrainedResnet_quant": [-128, -128, -109, -109, -128, -128, 88, -128, -127, -128],
}


@pytest.fixture(params=sorted(PUBLISHED))
def name(request: pytest.FixtureRequest) -> str:
    if not (MODELS / f"{request.param}.tflite").is_file():
        pytest.skip("the reference models are not part of the project")
    return str(request.param)


@pytest.fixture
def content(name: str) -> bytes:
    return (MODELS / f"{name}.tflite").read_bytes()


def outputs(graph: Graph, x: NDArray[np.int8]) -> NDArray[np.int8]:
    (tensor,) = graph.outputs.values()
    return graph.run(x, {tensor})[tensor].reshape(len(x), -1)


def published_input(size: int) -> NDArray[np.int8]:
    """The high bytes of a linear congruential generator that starts at 1."""
    state, values = 1, []
    for _ in range(size):
        state = (state * 1664525 + 1013904223) % 2**32
        values.append(state >> 24)
    return np.array(values, np.uint8).view(np.int8)


def test_the_published_output_is_reproduced(name: str, content: bytes) -> None:
    graph = read_tflite(content)
    shape = graph.tensors[graph.input].shape
    x = published_input(int(np.prod(shape))).reshape(1, *shape)
    assert outputs(graph, x)[0].tolist() == PUBLISHED[name]


def test_random_inputs_give_the_bytes_of_the_reference_kernels(content: bytes) -> None:
    litert = pytest.importorskip("ai_edge_litert.interpreter")
    graph = read_tflite(content)
    rng = np.random.default_rng(3)
    x = rng.integers(-128, 128, (20, *graph.tensors[graph.input].shape)).astype(np.int8)
    reference = litert.Interpreter(
        model_content=content,
        experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF,
    )
    reference.allocate_tensors()
    given, wanted = reference.get_input_details()[0], reference.get_output_details()[0]
    expected = []
    for image in x:
        reference.set_tensor(given["index"], image.reshape(given["shape"]))
        reference.invoke()
        expected.append(reference.get_tensor(wanted["index"]).ravel())
    np.testing.assert_array_equal(outputs(graph, x), expected)
