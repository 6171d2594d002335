"""What a SavedModel would do to the world: its graph, read before TensorFlow loads it.

An operation computes only with its inputs if TensorFlow says that it has no state and nothing
is named by a string: files, addresses, Python functions and libraries all are. The exceptions to
both halves of this rule are listed.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from snapcli.errors import UsageError
from snapcli.models.saved_code import ALLOW_CODE, shown, words

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
# How TensorFlow writes and reads the variables beside the graph; its loader does not call them.
_SAVER = words("""
    MergeV2Checkpoints RestoreV2 SaveV2 ShardedFilename StaticRegexFullMatch StringJoin
""")


def refuse_effects(saved: Any, model: str) -> None:
    """saved: the SavedModel message. Raises UsageError with the operation's name if one could
    reach files, the network or Python; model: for the message."""
    if len(saved.meta_graphs) != 1 or not saved.meta_graphs[0].HasField("object_graph_def"):
        raise UsageError(
            f"{model} is a SavedModel of TensorFlow 1, which runs its own code to be loaded",
            ALLOW_CODE,
        )
    (meta,) = saved.meta_graphs
    library: dict[str, list[Any]] = {}
    for function in meta.graph_def.library.function:
        library.setdefault(function.signature.name, []).extend(function.node_def)
    called = _called(meta.object_graph_def.concrete_functions, library)
    _check(meta.graph_def.node, _SAVER, library, model)
    for name, nodes in library.items():
        _check(nodes, frozenset() if name in called else _SAVER, library, model)


def _called(roots: Iterable[str], library: Mapping[str, Sequence[Any]]) -> set[str]:
    """The functions that objects of the model have, and all that these call."""
    found: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name in library and name not in found:
            found.add(name)
            waiting.extend(callee for node in library[name] for callee in _callees(node))
    return found


def _callees(node: Any) -> Iterator[str]:
    yield node.op
    for value in node.attr.values():
        yield value.func.name
        yield from (function.name for function in value.list.func)


def _check(
    nodes: Iterable[Any], allowed: frozenset[str], library: Container[str], model: str
) -> None:
    for node in nodes:
        if node.op not in allowed and not _computes(node.op, library):
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
