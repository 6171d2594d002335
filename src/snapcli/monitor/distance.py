"""The fitted distances to the classes in the device's numbers."""

import numpy as np

from snapcli import fixedpoint as fx
from snapcli.graph.graph import Tensor
from snapcli.monitor.checks import ROW_LIMIT
from snapcli.score.mahalanobis import Mahalanobis

_ONE_Q10 = 1 << 10


def quantize_mahalanobis(fitted: Mahalanobis, tensor: Tensor) -> fx.MahalanobisS8:
    """tensor: the one whose pooled sums it is given. A row of the whitening has its own scale."""
    rank, channels = fitted.whitening.shape
    step = tensor.scale / tensor.positions
    mantissa, shift = fx.quantize_multipliers_shared(step / fitted.deviation * _ONE_Q10)
    offset = np.clip(np.rint(-fitted.mean / fitted.deviation * _ONE_Q10), -(2**31), 2**31 - 1)
    size = np.abs(fitted.whitening)
    # Rounding may add half a unit to every entry of a row.
    room = np.minimum(127.0 * size.sum(axis=1) / size.max(axis=1), ROW_LIMIT - channels / 2)
    scale = size.sum(axis=1) / room
    whitening = np.rint(fitted.whitening / scale[:, np.newaxis])
    # Divided by the root of the rank here, the sum of squares is their mean.
    scale = scale / np.sqrt(rank)
    latent, latent_shift = fx.quantize_multipliers_shared(scale)
    # By the rounded weights: their error then counts for the way from the centre alone.
    centre = np.rint(fitted.centres @ (whitening * scale[:, np.newaxis]).T * _ONE_Q10)
    return fx.MahalanobisS8(
        channels=channels,
        rank=rank,
        classes=len(centre),
        input=fx.Standardize(mantissa, offset.astype(np.int32), shift),
        whitening=whitening.astype(np.int8),
        mantissa=latent,
        shift=latent_shift,
        centre=np.clip(centre, -32768, 32767).astype(np.int16),
    )
