"""What a SavedModel would do to the world: its graph, read before TensorFlow loads it.

An operation computes only with its inputs if TensorFlow says that it has no state and nothing
is named by a string: files, addresses, Python functions and libraries all are. The exceptions to
both halves of this rule are listed.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from snapcli.errors import UsageError, shown
from snapcli.limits import check_shape
from snapcli.models.saved_code import words
from snapcli.usercode import ALLOW_CODE

# With a state, but one inside of the model: variables, random numbers, calls.
_STATES = words("""
    Assert AssignAddVariableOp AssignSubVariableOp AssignVariableOp Case DisableCopyOnRead If
    Multinomial RandomGamma RandomShuffle RandomStandardNormal RandomUniform RandomUniformInt
    ReadVariableOp ResourceGather ResourceGatherNd RngReadAndSkip RngSkip
    StatefulPartitionedCall StatefulStandardNormalV2 StatefulTruncatedNormal StatefulUniform
    StatefulUniformFullInt StatefulUniformInt TruncatedNormal VarHandleOp VarIsInitializedOp
    VariableShape While
""")
# With a string that only says how to compute.
_WORDS = words("""
    DataFormatDimMap DataFormatVecPermute Einsum GatherNd ImageProjectiveTransformV2
    ImageProjectiveTransformV3 PartitionedCall PreventGradient ScaleAndTranslate ScatterNd
    TensorScatterAdd TensorScatterMax TensorScatterMin TensorScatterSub TensorScatterUpdate
""")
_CONSTANT = "Const"
_ITEM = 8  # bytes of the largest number


def harmless(saved: Any, model: str) -> Any:
    """The SavedModel message without all that its loader has no use for: the functions that wrote
    and read variables, which name files, and the names of files themselves. Raises UsageError
    with the operation's name if one of the rest could reach files, the network or Python; model:
    for the message."""
    if len(saved.meta_graphs) != 1 or not saved.meta_graphs[0].HasField("object_graph_def"):
        raise UsageError(
            f"{model} is a SavedModel of TensorFlow 1, which runs its own code to be loaded",
            ALLOW_CODE,
        )
    kept = type(saved).FromString(saved.SerializeToString())
    (meta,) = kept.meta_graphs
    graph, library = meta.graph_def, meta.graph_def.library
    called = _called(_roots(meta), _library(meta))
    functions = [f for f in library.function if f.signature.name in called]
    constants = [node for node in graph.node if node.op == _CONSTANT]
    for field in ("saver_def", "asset_file_def", "collection_def"):
        meta.ClearField(field)
    for part, name, values in ((library, "function", functions), (graph, "node", constants)):
        values = [type(value).FromString(value.SerializeToString()) for value in values]
        part.ClearField(name)
        getattr(part, name).extend(values)
    rest = _library(meta)
    for nodes in (graph.node, *rest.values()):
        _check(nodes, rest, model)
    return kept


def _library(meta: Any) -> dict[str, list[Any]]:
    library: dict[str, list[Any]] = {}
    for function in meta.graph_def.library.function:
        library.setdefault(function.signature.name, []).extend(function.node_def)
    return library


def _roots(meta: Any) -> Iterator[str]:
    """The functions that objects of the model have."""
    yield from meta.object_graph_def.concrete_functions
    for node in meta.object_graph_def.nodes:
        yield from node.function.concrete_functions
        yield node.bare_concrete_function.concrete_function_name
    for gradient in meta.graph_def.library.registered_gradients:
        yield gradient.gradient_func
    for gradient in meta.graph_def.library.gradient:
        yield gradient.gradient_func


def _called(roots: Iterable[str], library: Mapping[str, Sequence[Any]]) -> set[str]:
    """These functions and all that they call."""
    names: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name in library and name not in names:
            names.add(name)
            waiting.extend(callee for node in library[name] for callee in _callees(node))
    return names


def _callees(node: Any) -> Iterator[str]:
    yield node.op
    for value in node.attr.values():
        yield value.func.name
        yield from (function.name for function in value.list.func)


def _check(nodes: Iterable[Any], library: Container[str], model: str) -> None:
    for node in nodes:
        value = node.attr["value"].tensor if node.op == _CONSTANT else None
        if value is not None:
            shape = [dimension.size for dimension in value.tensor_shape.dim]
            check_shape(shape, _ITEM, f"constant '{shown(node.name)}'")
        if not _computes(node.op, library):
            raise UsageError(
                f"operation {shown(node.op)} ('{shown(node.name)}') of {model} may reach outside "
                "of the model",
                ALLOW_CODE,
            )


def _computes(name: str, library: Container[str]) -> bool:
    """A function of the library is checked by itself."""
    import tensorflow as tf
    from tensorflow.python.framework import op_def_registry

    if name in _STATES or name in _WORDS:
        return True
    operation = op_def_registry.get(name)
    if operation is None:
        return name in library
    if operation.is_stateful:
        return False
    string = tf.string.as_datatype_enum
    arguments = (*operation.input_arg, *operation.output_arg)
    return not any(argument.type == string for argument in arguments) and not any(
        attribute.type in ("string", "list(string)") and not attribute.HasField("allowed_values")
        for attribute in operation.attr
    )
