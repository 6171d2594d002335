"""TFLite's own reference kernels, as LiteRT ships them: the oracle of every other link.

    python -m snapcli.graph.litert FOLDER

It is asked in a process of its own, by files in a folder, because it ends its process where it
finds a model impossible. QUESTION holds the inputs of n samples, the file's tensors to look at
and the model; ANSWER the values of these tensors.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from snapcli.graph.graph import Graph
from snapcli.limits import DATA_MAX
from snapcli.stored import read_npz

_QUESTION, _ANSWER = "question.npz", "answer.npz"


def write_question(
    folder: Path, content: bytes, graph: Graph, inputs: Mapping[str, NDArray]
) -> None:
    """inputs: values [n, *shape] by name."""
    wanted = [t.index for t in graph.tensors.values() if t.index is not None]
    given = {f"input.{graph.tensors[name].index}": x for name, x in inputs.items()}
    model = np.frombuffer(content, np.uint8)
    np.savez(folder / _QUESTION, model=model, wanted=np.array(wanted), **given)  # type: ignore[arg-type]


def read_answer(folder: Path, graph: Graph) -> dict[str, NDArray]:
    """Every tensor of the graph that the file has too: {name: values [n, *shape]}."""
    arrays = read_npz(folder / _ANSWER, DATA_MAX)
    return {
        name: arrays[str(tensor.index)].reshape(-1, *tensor.shape)
        for name, tensor in graph.tensors.items()
        if tensor.index is not None
    }


def answer(folder: Path) -> None:
    """What the other process does: from QUESTION to ANSWER."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    arrays = read_npz(folder / _QUESTION, DATA_MAX)
    interpreter = Interpreter(
        model_content=arrays["model"].tobytes(),
        experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
        # Without it, tensors share memory and are gone when we look.
        experimental_preserve_all_tensors=True,
    )
    interpreter.allocate_tensors()
    shapes = {d["index"]: d["shape"] for d in interpreter.get_input_details()}
    inputs = {int(k.removeprefix("input.")): v for k, v in arrays.items() if k.startswith("input.")}
    kept: dict[int, list[NDArray]] = {int(index): [] for index in arrays["wanted"]}
    for sample in range(len(next(iter(inputs.values())))):
        for index, values in inputs.items():
            interpreter.set_tensor(index, values[sample].reshape(shapes[index]))
        interpreter.invoke()
        for index, seen in kept.items():
            seen.append(interpreter.get_tensor(index))
    np.savez(folder / _ANSWER, **{str(i): np.stack(v) for i, v in kept.items()})  # type: ignore[arg-type]


if __name__ == "__main__":
    answer(Path(sys.argv[1]))
