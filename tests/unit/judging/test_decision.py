"""What a monitor without heads can be made of."""

from types import SimpleNamespace

import pytest

from snapcli.config import CalibrateOptions
from snapcli.errors import UsageError
from snapcli.judging.decision import check_without_heads

CORRUPTED = {"noise": (1, 3)}


def data(labelled: bool, corruptions: object = ()) -> SimpleNamespace:
    return SimpleNamespace(labelled=labelled, corruptions=corruptions)


@pytest.mark.parametrize("map", ["auto", "temperature", "class-gated", "evidence"])
def test_logits_and_distances_are_enough_for_some_maps(map: str) -> None:
    for dataset in (data(True), data(False, CORRUPTED), data(True, CORRUPTED)):
        check_without_heads(dataset, CalibrateOptions(map=map))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (CalibrateOptions(map="gated"), "the map gated"),
        (CalibrateOptions(map="percentile"), "the map percentile"),
        (CalibrateOptions(third="energy"), "the third input energy"),
    ],
)
def test_what_reads_heads_is_refused(options: CalibrateOptions, what: str) -> None:
    with pytest.raises(UsageError, match=what) as refused:
        check_without_heads(data(True), options)  # type: ignore[arg-type]
    assert "evidence" in (refused.value.hint or "")


def test_without_errors_of_any_kind_there_is_nothing_to_learn_from() -> None:
    with pytest.raises(UsageError, match="nothing says how likely an error is"):
        check_without_heads(data(False), CalibrateOptions())  # type: ignore[arg-type]
