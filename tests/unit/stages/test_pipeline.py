"""What `snap run` makes of a recipe, its stages replaced."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest

from snapcli.config import NO_DETECTOR, AlarmOptions, ExportOptions, Recipe
from snapcli.errors import CheckError, UsageError
from snapcli.progress import OnProgress, silent
from snapcli.runs import Run
from snapcli.stages import pipeline as stages

STAGES = ("train", "calibrate", "quantize", "alarm", "export_c", "build_only", "bench")
RUN = cast(Run, None)  # no stage looks at it


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    names: list[str] = []

    def stage(name: str) -> Any:
        def made(*_: Any, **__: Any) -> str:
            names.append(name)
            return f"report of {name}"

        return made

    for name in STAGES:
        monkeypatch.setattr(stages, name, stage(name))
    return names


@contextmanager
def watch(stage: str) -> Iterator[OnProgress]:
    yield silent


def test_the_alarm_is_fitted_between_quantize_and_export(called: list[str]) -> None:
    report = stages.pipeline(RUN, Recipe(), watch)
    assert called == list(STAGES)
    assert report.alarm == "report of alarm"  # type: ignore[comparison-overlap]


def test_a_recipe_may_do_without_it(called: list[str]) -> None:
    recipe = Recipe(alarm=AlarmOptions(detector=NO_DETECTOR))
    assert stages.pipeline(RUN, recipe, watch).alarm is None
    assert "alarm" not in called


@pytest.mark.parametrize("refusal", [CheckError("not enough data"), UsageError("no corruptions")])
def test_data_that_bear_no_alarm_do_not_end_a_run(
    called: list[str], monkeypatch: pytest.MonkeyPatch, refusal: Exception
) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise refusal

    monkeypatch.setattr(stages, "alarm", refused)
    assert stages.pipeline(RUN, Recipe(), watch).alarm is None
    assert called[-1] == "bench"


def test_a_board_is_not_benched(called: list[str]) -> None:
    recipe = Recipe(export_c=ExportOptions(target="small-mcu"))
    assert stages.pipeline(RUN, recipe, watch).bench is None
    assert "bench" not in called
