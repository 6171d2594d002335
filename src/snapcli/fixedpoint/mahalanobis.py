"""Distances to the answered and the next class (SPEC 1.4) <-> snapuq_mahalanobis_s8.c."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.fixedpoint.requantize import INT32_MAX, requantize
from snapcli.fixedpoint.residual import Standardize


@dataclass(frozen=True, eq=False)
class MahalanobisS8:
    """Fields, shapes and formats of struct snapuq_mahalanobis_s8.

    input: pooled sum -> Q10, saturated to int16. whitening int8 [rank, channels], the sizes of
    a row's entries sum to at most 65535. mantissa int32 [rank] and shift: a row's accumulator
    -> Q10, where the root of the rank is divided out. centre int16 [classes, rank], Q10.
    """

    channels: int
    rank: int
    classes: int
    input: Standardize
    whitening: NDArray[np.int8]
    mantissa: NDArray[np.int32]
    shift: int
    centre: NDArray[np.int16]


def mahalanobis_s8(
    head: MahalanobisS8, total: NDArray[np.int32], answer: NDArray[np.int32]
) -> NDArray[np.uint32]:
    """Squared distance / rank to the centre of the answer and to the nearest other, Q16, at most
    2^31 - 1.

    total int32 [N, channels], the pooled sums; answer int32 [N] in [0, classes) -> uint32 [N, 2].
    """
    given = head.input
    x = np.clip(requantize(total, given.mantissa, given.shift) + given.offset, -32768, 32767)
    # Exact: float64 holds the sums, all below 2^31.
    sums = (x.astype(np.float64) @ head.whitening.T.astype(np.float64)).astype(np.int64)
    z = np.clip(requantize(sums, head.mantissa, head.shift), -32768, 32767)
    away = z[:, np.newaxis, :] - head.centre.astype(np.int64)
    distance = np.minimum(np.sum(away * away, axis=-1) >> 4, INT32_MAX)
    is_own = np.arange(head.classes) == answer[:, np.newaxis]
    following = np.where(is_own, INT32_MAX, distance).min(axis=-1)
    return np.stack([distance[is_own], following], axis=-1).astype(np.uint32)
