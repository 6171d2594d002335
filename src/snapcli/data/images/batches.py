"""CIFAR's pickles, read without running what a pickle may name.

A pickle is a program. Even of numpy's own functions a hostile one makes arrays that lie about
their memory, so none is called: stand-ins remember what they are given, and arrays of bytes are
made from that here.
"""

import io
import math
import pickle
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SHAPE = (3, 32, 32)
_LABELS_MAX = 1_000_000


class _Kind:
    """In place of numpy.dtype."""

    def __init__(self, name: Any = None, *_: Any) -> None:
        self.name = name

    def __setstate__(self, state: Any) -> None:
        pass


class _Array:
    """In place of numpy.ndarray."""

    shape: Any = None
    kind: Any = None
    content: Any = None

    def __setstate__(self, state: Any) -> None:
        _, self.shape, self.kind, fortran, self.content = state
        if fortran:
            raise pickle.UnpicklingError("its array is in columns")

    def bytes(self) -> NDArray[np.uint8]:
        """[n, 3, 32, 32]; raises ValueError unless it is an array of bytes."""
        name = self.kind.name if isinstance(self.kind, _Kind) else None
        sizes = self.shape if isinstance(self.shape, tuple) else ()
        if name not in ("u1", b"u1") or not isinstance(self.content, bytes):
            raise ValueError("its data are not an array of bytes")
        if not all(type(n) is int for n in sizes) or math.prod(sizes) != len(self.content):
            raise ValueError("its array has not the size that it claims")
        return np.frombuffer(self.content, np.uint8).reshape(-1, *_SHAPE)


def _reconstruct(*_: Any) -> _Array:
    return _Array()


def _encode(text: Any, encoding: Any = "latin1") -> bytes:
    """How protocol 2 writes bytes; other codecs are not asked."""
    if not isinstance(text, str) or encoding not in ("latin1", b"latin1"):
        raise pickle.UnpicklingError("it encodes in an unknown way")
    return text.encode("latin1")


_NAMED = {
    ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy._core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Kind,
    ("_codecs", "encode"): _encode,
}


# The one in C makes room for as many objects as a pickle says it remembers.
class _StandIns(pickle._Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _NAMED:
            raise pickle.UnpicklingError(f"it names {module}.{name}")
        return _NAMED[module, name]


def read_batch(content: bytes) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """(images [n, 3, 32, 32], labels [n]); raises what pickle raises, and ValueError."""
    batch = _StandIns(io.BytesIO(content), encoding="bytes").load()
    data = batch[b"data"]
    labels = batch[b"labels"]
    if not isinstance(data, _Array):
        raise ValueError("its data are not an array")
    if type(labels) is not list or len(labels) > _LABELS_MAX or {int} != {type(y) for y in labels}:
        raise ValueError("its labels are not whole numbers")
    return data.bytes(), np.array(labels, np.int64)
