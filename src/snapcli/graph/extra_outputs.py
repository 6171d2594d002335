"""More outputs for a .tflite, so that any interpreter keeps these tensors and shows them.

The file is patched, not written anew: its bytes stay where they are, but for the one offset that
leads to the list of outputs. The new list stands behind them.
"""

import struct
from collections.abc import Sequence

from snapcli.graph.reader import opened

_OFFSET = struct.Struct("<I")
_ALIGNMENT = 4


def outputs_of(content: bytes) -> tuple[int, ...]:
    """The tensors that the file gives, by their number in it."""
    with opened(content) as (_, model):
        return tuple(int(index) for index in model.subgraphs[0].outputs)


def with_outputs(content: bytes, indices: Sequence[int]) -> bytes:
    """The file with these tensors, by their number, behind its own outputs; those that it already
    gives are not added again. Its signature names what it named before."""
    with opened(content) as (_, model):
        subgraph = model.subgraphs[0]
        place, count = subgraph.place("outputs"), len(subgraph.tensors)
        if place is None:
            raise ValueError("it has no outputs")
        if wrong := [index for index in indices if not 0 <= index < count]:
            raise ValueError(f"there is no tensor {wrong[0]}")
        own = [int(index) for index in subgraph.outputs]
    added = [index for index in dict.fromkeys(indices) if index not in own]
    if not added:
        return content
    patched = bytearray(content) + bytes(-len(content) % _ALIGNMENT)
    _OFFSET.pack_into(patched, place, len(patched) - place)
    vector = (len(own) + len(added), *own, *added)
    return bytes(patched) + struct.pack(f"<{len(vector)}i", *vector)
