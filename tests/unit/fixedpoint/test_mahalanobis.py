"""The integer distance against the fitted one."""

import numpy as np
import pytest

from snapcli.fixedpoint import mahalanobis_s8
from snapcli.graph import Tensor
from snapcli.monitor.distance import quantize_mahalanobis
from snapcli.score.mahalanobis import Mahalanobis, fit_mahalanobis

from ..score.test_mahalanobis import draw

TENSOR = Tensor("block", (5, 4, 7), 0.03, -3)


def integers(pooled: np.ndarray, tensor: Tensor) -> np.ndarray:
    return np.rint(pooled / (tensor.scale / tensor.positions)).astype(np.int32)


def both(x: np.ndarray, fitted: Mahalanobis, tensor: Tensor) -> tuple[np.ndarray, np.ndarray]:
    answer = np.arange(len(x)) % len(fitted.centres)
    device = quantize_mahalanobis(fitted, tensor)
    found = mahalanobis_s8(device, integers(x, tensor), answer.astype(np.int32))
    return found / 65536, fitted.to_answer_and_next(x, answer)


@pytest.mark.parametrize("channels", [1, 7, 64, 300])
def test_the_integer_distance_is_close(channels: int) -> None:
    tensor = Tensor("block", (5, 4, channels), 0.03, -3)
    x, labels = draw(600, channels)
    fitted = fit_mahalanobis(x[:400], labels[:400], 4)
    for part in (x[400:], 2 * x[400:]):
        found, expected = both(part, fitted, tensor)
        np.testing.assert_allclose(found, expected, rtol=0.03, atol=2e-3)


def test_every_row_has_room_in_its_accumulator() -> None:
    x, labels = draw(300, 1280)
    device = quantize_mahalanobis(fit_mahalanobis(x, labels, 4), Tensor("b", (1, 1, 1280), 0.1, 0))
    rows = np.abs(device.whitening.astype(int)).sum(axis=1)
    assert rows.max() <= 65535
    equal = Mahalanobis(np.zeros(2048), np.ones(2048), np.ones((3, 2048)), np.zeros((1, 2048)))
    device = quantize_mahalanobis(equal, Tensor("b", (1, 1, 2048), 0.1, 0))
    assert np.abs(device.whitening.astype(int)).sum(axis=1).max() <= 65535


def test_a_foreign_input_saturates() -> None:
    x, labels = draw()
    device = quantize_mahalanobis(fit_mahalanobis(x, labels, 4), TENSOR)
    signs = np.array([[1, -1, 1, -1, 1, -1, 1]])
    found = mahalanobis_s8(device, ((2**31 - 1) * signs).astype(np.int32), np.zeros(1, np.int32))
    assert found.dtype == np.uint32
    assert 100 * 65536 < int(found.min()) <= int(found.max()) <= 2**31 - 1
