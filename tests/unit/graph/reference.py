"""The oracle of whole graphs: LiteRT's reference kernels on the same file."""

import numpy as np

from snapcli.graph import Graph, read_tflite

from ...golden.tflite_op import run_samples


def random_values(graph: Graph, count: int, seed: int) -> dict[str, np.ndarray]:
    """Values for every input, [count, *shape]; both ends of int8 occur often."""
    rng = np.random.default_rng(seed)
    values: dict[str, np.ndarray] = {}
    for name in graph.inputs:
        shape = (count, *graph.tensors[name].shape)
        if graph.tensors[name].dtype == "float32":
            values[name] = rng.normal(0, 5, shape).astype(np.float32)
        else:
            values[name] = np.clip(rng.integers(-160, 160, shape), -128, 127).astype(np.int8)
    return values


def assert_equals_reference(content: bytes, count: int = 3, seed: int = 0) -> Graph:
    """Every output of the file, shape and bytes, for random inputs."""
    graph = read_tflite(content)
    x = random_values(graph, count, seed)
    found = graph.run(x, set(graph.outputs.values()))
    samples = run_samples(content, list(x.values()))
    for n, expected in enumerate(samples):
        for name, reference in zip(graph.outputs, expected, strict=True):
            tensor = graph.tensors[graph.outputs[name]]
            whole = (1, *tensor.shape) if reference.shape != tensor.shape else tensor.shape
            actual = found[tensor.name][n].reshape(whole)
            assert actual.dtype == np.dtype(tensor.dtype)
            np.testing.assert_array_equal(actual, reference, err_msg=name, strict=True)
    return graph
