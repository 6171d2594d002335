"""The options of heads that are fitted beside the run's own."""

from typing import Any

import pytest

from snapcli.config import HEADS, MINIMAL, TrainOptions
from snapcli.judging.networks import with_head

OWN: dict[str, dict[str, Any]] = {
    "student-t": {"nu": 7.0, "learn_nu": True},
    "huber": {"delta": 2.0},
    "lowrank": {"factors": 8},
    "mixture": {"components": 3},
}


@pytest.mark.parametrize("kind", HEADS)
@pytest.mark.parametrize("own", OWN)
def test_another_kind_of_head_has_nothing_of_the_run_s(own: str, kind: str) -> None:
    trained = TrainOptions(head=own, mode="joint", adaptive=True, **OWN[own])
    options = with_head(trained, kind)
    assert (options.head, options.mode) == (kind, "posthoc")
    for name, value in OWN[own].items():
        expected = value if kind == own else getattr(TrainOptions(), name)
        assert getattr(options, name) == expected
    assert bool(options.taps) == (kind == MINIMAL)
