"""TFLite's own reference kernels, as LiteRT ships them: the oracle of every other link."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from snapcli.errors import ArtifactError
from snapcli.graph.graph import Graph


def reference_tensors(
    content: bytes, graph: Graph, inputs: Mapping[str, NDArray]
) -> dict[str, NDArray]:
    """Every tensor of the graph that the file has too: {name: values [n, *shape]}."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    try:
        interpreter = Interpreter(
            model_content=content,
            experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
            experimental_preserve_all_tensors=True,
        )
        interpreter.allocate_tensors()
    except (ValueError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise ArtifactError(
            f"TFLite itself cannot run the model ({reason})", "Convert the model again."
        ) from None
    known = {name: t.index for name, t in graph.tensors.items() if t.index is not None}
    found: dict[str, list[NDArray]] = {name: [] for name in known}
    details = {d["index"]: d for d in interpreter.get_input_details()}
    count = len(next(iter(inputs.values())))
    for i in range(count):
        for name, values in inputs.items():
            index = known[name]
            interpreter.set_tensor(index, values[i].reshape(details[index]["shape"]))
        interpreter.invoke()
        for name, index in known.items():
            found[name].append(interpreter.get_tensor(index).reshape(graph.tensors[name].shape))
    return {name: np.stack(values) for name, values in found.items()}
