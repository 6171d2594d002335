"""Features as an out-of-distribution score wants them (SPEC 1.10) <-> snapuq_clip_s8.c,
snapuq_ash_s8.c."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class ClipS8:
    """No element of `length` is above limit, [-128, 127]."""

    length: int
    limit: int


@dataclass(frozen=True)
class AshS8:
    """The `kept` largest of `length` elements share the sum of all; the others become zero."""

    length: int
    kept: int
    zero_point: int


def clip_s8(layer: ClipS8, x: NDArray[np.int8]) -> NDArray[np.int8]:
    """x int8 of any shape -> int8 of that shape."""
    return np.minimum(x, layer.limit).astype(np.int8)


def ash_s8(layer: AshS8, x: NDArray[np.int8]) -> NDArray[np.int8]:
    """x int8 [N, length] -> int8 [N, length]; of equal elements the first are kept."""
    total = (x.astype(np.int64) - layer.zero_point).sum(axis=-1, keepdims=True)
    shared = (np.maximum(total, 0) + layer.kept // 2) // layer.kept + layer.zero_point
    order = np.argsort(-x.astype(np.int64), axis=-1, kind="stable")
    shaped = np.full_like(x, layer.zero_point)
    np.put_along_axis(shaped, order[:, : layer.kept], np.minimum(shared, 127).astype(np.int8), -1)
    return shaped
