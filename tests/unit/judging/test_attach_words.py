"""What a user is told of an attached model."""

from types import SimpleNamespace

import numpy as np
import pytest

from snapcli.graph import read_tflite
from snapcli.judging.attach_words import doubts, float_ends, meaning, unfit_heads
from snapcli.results.calibrate import HeadsReport

from ..tiny_foreign import float_ended_tflite, foreign_tflite


def told(
    kind: str, labelled: bool, corrupted: bool, idle: bool = False, **report: object
) -> tuple[str, ...]:
    dataset = SimpleNamespace(labelled=labelled, corruptions={"fog": None} if corrupted else {})
    heads = HeadsReport(True, not idle, idle, 0.0, not idle, False)
    found = {"map": {"kind": kind}, "threshold": 0.5, "heads": heads, **report}
    return meaning(dataset, SimpleNamespace(**found), 0.9, 100)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "labelled", "corrupted", "words"),
    [
        ("gated", True, False, "under a shift that they do not show"),
        ("gated", True, True, "our corruptions of them"),
        ("gated", False, True, "where a corruption changed it"),
        ("percentile", False, False, "not a probability of error"),
    ],
)
def test_u_means_what_it_was_fitted_to(
    kind: str, labelled: bool, corrupted: bool, words: str
) -> None:
    first, second = told(kind, labelled, corrupted)
    assert words in first
    assert "about 90 % are accepted" in second


def test_a_threshold_that_refuses_nothing_is_not_praised() -> None:
    _, second = told("percentile", False, False, threshold=1.1)
    assert second.startswith("NOTHING is refused: 100 examples are too few")


def test_idle_heads_are_called_idle() -> None:
    last = told("gated", True, True, idle=True)[-1]
    assert last.startswith("The heads are idle")
    assert "snap calibrate --taps none" in last


def test_a_head_that_fits_only_what_it_has_seen() -> None:
    (note,) = unfit_heads({"one": 1.2, "two": 2.04}, 40)
    assert note.startswith("E[e] of two is 2.0")
    assert "40 examples are too few" in note


def test_an_order_in_which_the_model_would_be_right_is_noticed() -> None:
    rng = np.random.default_rng(0)
    answers = rng.integers(0, 5, 400)
    order = np.array([0, 2, 1, 4, 3])
    (note,) = doubts(order[answers], answers, 5)
    assert "100.0 % if its classes stood in another order" in note
    # A poor model in the right order, and a good one, are left alone.
    noisy = np.where(rng.random(400) < 0.4, answers, rng.integers(0, 5, 400))
    assert doubts(noisy, answers, 5) == ()
    assert doubts(answers, answers, 5) == ()


def test_guessing_is_noticed() -> None:
    rng = np.random.default_rng(1)
    (note,) = doubts(rng.integers(0, 10, 4000), rng.integers(0, 10, 4000), 10)
    assert "as if it guessed" in note


def test_float_ends_are_told() -> None:
    assert float_ends(read_tflite(foreign_tflite())) == ()
    assert "float32" in float_ends(read_tflite(float_ended_tflite()))[0]
