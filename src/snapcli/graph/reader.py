"""Reads an int8 .tflite into a Graph.

Anything it does not understand is named, with its layer, before any work is done.
"""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from snapcli.errors import ArtifactError, ConfigError
from snapcli.graph.builders import BUILDERS
from snapcli.graph.dilation import HINT, JOIN, SPLIT, dilated_convolution, find_dilated
from snapcli.graph.flatbuffer import Buffer
from snapcli.graph.folding import FOLDED, fold
from snapcli.graph.graph import Graph
from snapcli.graph.network import INTEGER_TYPES, INTEGERS_MAX, OPERATORS_MAX, Network, Node
from snapcli.graph.passes import simplify
from snapcli.graph.schema import CUSTOM, OPERATORS, Record, read_model
from snapcli.limits import TooLargeError, read_bytes
from snapcli.stored import reason

# What reading a file that says impossible things raises.
_DAMAGE = (struct.error, LookupError, ArithmeticError, TypeError, ValueError)


def read_tflite(content: bytes) -> Graph:
    with opened(content) as (buffer, model):
        return simplify(_read(buffer, model))


def operator_names(content: bytes) -> tuple[str, ...]:
    """Of all operators that the file uses, each once: also of those that no Graph has."""
    with opened(content) as (_, model):
        codes = {_code(model, operator) for operator in model.subgraphs[0].operators}
        return tuple(sorted(OPERATORS[code][0] for code in codes))


@contextmanager
def opened(content: bytes) -> Iterator[tuple[Buffer, Record]]:
    """The model of a file; whatever reading it trips over in the block is an error of ours."""
    if content[4:8] != b"TFL3":
        raise ArtifactError("this is not a .tflite file", "Give a model that TFLite converted.")
    try:
        buffer = Buffer(content)
        model = read_model(buffer)
        if len(model.subgraphs) != 1:
            raise ArtifactError(
                f"the model has {len(model.subgraphs)} subgraphs",
                "Convert one without control flow.",
            )
        yield buffer, model
    except _DAMAGE as error:
        raise ArtifactError(
            f"the .tflite file is damaged ({error})", "Convert the model again."
        ) from None


def _read(buffer: Buffer, model: Record) -> Graph:
    network = Network(buffer, model)
    operators = network.subgraph.operators
    if len(operators) > OPERATORS_MAX:
        raise ArtifactError(
            f"the model has {len(operators)} operators", f"At most {OPERATORS_MAX} are possible."
        )
    inputs = [network.input(int(index)) for index in network.subgraph.inputs]
    kinds = [OPERATORS.get(_code(model, operator), ("",))[0] for operator in operators]
    dilated = find_dilated(network.subgraph, kinds)
    inner = {k for chain in dilated.values() for k in chain[:-1]}
    for position, operator in enumerate(operators):
        if position in inner:
            continue
        node = _node(model, network, operator)
        try:
            if position in dilated:
                chain = [operators[k] for k in dilated[position][:-1]]
                parts = [_node(model, network, each, node.label) for each in chain]
                dilated_convolution(network, [*parts, node])
            else:
                _add(network, node)
        except ConfigError as error:
            raise node.refuse(f"cannot be computed: {error.message}", error.hint or "") from None
    return network.graph(inputs)


def _code(model: Record, operator: Record) -> int:
    code = model.operator_codes[operator.opcode_index]
    return int(max(code.builtin_code, code.deprecated_builtin_code))


def _node(model: Record, network: Network, operator: Record, label: str = "") -> Node:
    """label: that of the layer it is a part of, where it is not a layer of its own."""
    builtin = _code(model, operator)
    outputs = tuple(int(i) for i in operator.outputs)
    if not outputs:
        raise ValueError("an operator computes nothing")
    network.raw(outputs[0])
    label = label or network.name(outputs[0])
    if builtin not in OPERATORS:
        custom = model.operator_codes[operator.opcode_index].custom_code
        raise _unsupported(_operator_name(builtin, custom), label)
    kind, options = OPERATORS[builtin]
    inputs = tuple(int(i) for i in operator.inputs)
    return Node(kind, label, operator.options(options), inputs, outputs)


def _add(network: Network, node: Node) -> None:
    index = node.outputs[0]
    dtype = network.type(index)
    if dtype not in INTEGER_TYPES:
        if node.kind in (SPLIT, JOIN):
            raise node.refuse(
                "is not part of a dilated convolution, or others read its parts", HINT
            )
        if node.kind not in BUILDERS:
            raise _unsupported(node.kind, node.label)
        BUILDERS[node.kind](network, node)
        return
    if node.kind == "SHAPE":
        result = np.array(network.shape(node, 0), np.int64)
    elif node.kind in FOLDED:
        values = [network.integer(node, k) for k in range(len(node.inputs))]
        if sum(v.size for v in values) > INTEGERS_MAX:
            raise ValueError(f"layer '{node.label}' computes with too many integers")
        result = fold(node.kind, node.options, values, dtype)
    else:
        raise _unsupported(f"{node.kind} of integers", node.label)
    if index in network.values or index in network.integers:
        raise ValueError(f"tensor '{node.label}' is computed twice")
    network.integers[index] = result


def _operator_name(code: int, custom: str) -> str:
    from ai_edge_litert.schema_py_generated import BuiltinOperator

    if code == CUSTOM:
        return f"CUSTOM {custom}".strip()
    names = {v: k for k, v in vars(BuiltinOperator).items() if isinstance(v, int)}
    return names.get(code, str(code))


def _unsupported(operator: str, label: str) -> ArtifactError:
    supported = ", ".join(sorted(BUILDERS))
    return ArtifactError(
        f"operator {operator} of layer '{label}' is not supported", f"Supported: {supported}."
    )


def model_bytes(path: Path) -> bytes:
    try:
        return read_bytes(path)
    except (OSError, TooLargeError) as error:
        raise ArtifactError(
            f"cannot read {path}: {reason(error)}", "Give the path of a .tflite file."
        ) from None
