"""Fitted maps in the device's numbers never fall when surprise or doubt grows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapcli import fixedpoint as fx
from snapcli.config import MAPS
from snapcli.monitor.decision import MapInputs, map_inputs, quantize_map, uncertainty_q16
from snapcli.score.maps import fit

from ..score.test_maps import CLASSES, draw

# From nothing to the largest surprisal, close together where clean data lie.
SCORES = np.unique(
    np.concatenate([[0, 1, 2**31 - 1], np.geomspace(2**8, 2**30, 200).astype(np.uint32)])
).astype(np.uint32)
# To both classes.
SAME_WAY = np.array([[65536, 65536]], np.uint32)
THIRDS = np.linspace(-(2**20), 2**20, len(SCORES)).astype(np.int32)


def every_margin(step: float) -> tuple[np.ndarray, np.ndarray]:
    """Error logit and doubt of two classes, at every difference of int8 logits, falling."""
    rows = np.stack([np.full(256, 127), np.arange(127, -129, -1)], axis=-1).astype(np.int8)
    confidence, predicted = fx.confidence_of(2, step, 1.0), np.zeros(256, np.int32)
    return (
        fx.error_logit_q16(confidence, rows, predicted),
        fx.doubt_q16(confidence, rows, predicted, 30000),
    )


@pytest.mark.parametrize("kind", MAPS)
@settings(max_examples=15)
@given(
    seed=st.integers(0, 2**32 - 1),
    slopes=st.tuples(st.floats(-2, 2), st.floats(-2, 2)),
    third=st.booleans(),
    step=st.floats(0.001, 1.0),
)
def test_u_never_falls(
    kind: str, seed: int, slopes: tuple[float, float], third: bool, step: float
) -> None:
    """Also where dev data would have it otherwise: slopes of either sign. With a table that takes
    off what a slope adds, by no more than the step of U."""
    rounding = 1 if kind in ("class-gated", "evidence") else 0
    device = quantize_map(fit(kind, *draw(300, seed, slopes, third)))
    error_logit, doubt = every_margin(step)

    def u(
        score: np.ndarray,
        taps: np.ndarray,
        third: np.ndarray,
        margin: int,
        distances: np.ndarray = SAME_WAY,
    ) -> np.ndarray:
        """[n] for arrays that broadcast, at one margin between the two classes."""
        given = np.broadcast_arrays(score, *taps.T, third, *distances.T)
        score, first, second, third, own, following = given
        given = MapInputs(
            score_q16=score,
            error_logit_q16=np.full(len(score), error_logit[margin]),
            doubt_q16=np.full(len(score), doubt[margin]),
            surprisal_q16=np.stack([first, second], axis=-1),
            answer=np.full(len(score), seed % CLASSES, np.int32),
            classes=CLASSES,
            third_q16=third,
            distance_q16=np.stack([own, following], axis=-1),
        )
        return uncertainty_q16(device, given).astype(np.int64)

    usual, pair = np.array([70000], np.uint32), np.array([[70000, 70000]], np.uint32)
    nothing = np.zeros(1, np.int32)
    same = np.broadcast_to(usual, SCORES.shape)
    for margin in (0, 1, 40, 255):
        for rising in (
            u(SCORES, pair, nothing, margin),
            u(usual, np.stack([SCORES, same], axis=-1), nothing, margin),
            u(usual, np.stack([same, SCORES], axis=-1), nothing, margin),
            u(usual, pair, THIRDS, margin),
            u(usual, pair, nothing, margin, np.stack([SCORES, same], axis=-1)),
            u(usual, pair, nothing, margin, np.stack([same, SCORES[::-1]], axis=-1)),
        ):
            assert np.all(np.diff(rising) >= -rounding)
    by_margin = np.array([u(usual, pair, nothing, margin)[0] for margin in range(256)])
    assert np.all(np.diff(by_margin) <= 0)


@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_inputs_survive_as_real_numbers(seed: int, third: bool, distances: bool) -> None:
    """Bit for bit: what calibration fits is what the device computes."""
    rng = np.random.default_rng(seed)
    given = MapInputs(
        score_q16=rng.integers(0, 2**31, 20).astype(np.uint32),
        error_logit_q16=rng.integers(-(2**31), 2**31, 20).astype(np.int32),
        doubt_q16=rng.integers(0, 65537, 20).astype(np.uint32),
        surprisal_q16=rng.integers(0, 2**31, (20, 3)).astype(np.uint32),
        answer=rng.integers(0, 7, 20).astype(np.int32),
        classes=7,
        third_q16=rng.integers(-(2**31), 2**31, 20).astype(np.int32) * third,
        distance_q16=rng.integers(0, 2**31, (20, 2)).astype(np.uint32) * np.uint32(distances),
    )
    again = map_inputs(given.features(third, distances))
    for name, values in vars(given).items():
        np.testing.assert_array_equal(getattr(again, name), values, err_msg=name, strict=True)
