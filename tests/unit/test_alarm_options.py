"""How often an alarm may sound, in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapcli.config import AlarmOptions, Recipe, dump_recipe, load_recipe
from snapcli.errors import ConfigError


@pytest.mark.parametrize(
    ("asked", "rate", "frames"),
    [
        ("1 per 10000 frames", "", 10_000),
        ("2 per 10000 frames", "", 5_000),
        ("1 alarm per 10000 frames", "", 10_000),
        ("3 alarms in 600 frames", "4Hz", 200),
        ("1 per day", "4Hz", 4 * 86_400),
        ("1 PER DAY", "4 hz", 4 * 86_400),
        ("1 per 7 days", "0.5Hz", 7 * 43_200),
        ("1 per week", "2fps", 14 * 86_400),
        ("10 per hour", "10Hz", 3_600),
        ("1 per minute", "1Hz", 60),
        ("1 per month", "1Hz", 30 * 86_400),
    ],
)
def test_what_is_asked_for_in_frames(asked: str, rate: str, frames: float) -> None:
    options = AlarmOptions(false_alarms=asked, rate=rate)
    assert options.frames == pytest.approx(frames)
    assert options.frames_per_second == (float(rate.rstrip("HhZzfps ")) if rate else None)


@pytest.mark.parametrize(
    ("asked", "rate", "hint"),
    [
        ("often", "", "1 per 10000 frames"),
        ("", "", "1 per 10000 frames"),
        ("1 per fortnight", "4Hz", "1 per 10000 frames"),
        ("0 per 10000 frames", "", "1 per 10000 frames"),
        ("1 per 0 frames", "", "1 per 10000 frames"),
        ("-1 per day", "4Hz", "1 per 10000 frames"),
        ("1 per day", "", "--rate 4Hz"),
        ("1 per day", "4", "4Hz"),
        ("1 per day", "0Hz", "4Hz"),
        ("1 per day", "-4Hz", "4Hz"),
        ("1 per day", "nanHz", "4Hz"),
        ("1 per 10000 frames", "fast", "4Hz"),
        ("1 per 10 frames", "", "one per 20"),
        ("1 per 1000000000000 frames", "", "one per 20"),
    ],
)
def test_what_cannot_be_asked_for(asked: str, rate: str, hint: str) -> None:
    with pytest.raises(ConfigError) as refused:
        AlarmOptions(false_alarms=asked, rate=rate)
    assert hint in str(refused.value.hint)


@pytest.mark.parametrize(
    "wrong", [{"detector": "best"}, {"on": "V"}, {"baseline": -1}, {"baseline": 65_536}]
)
def test_other_options_have_their_ranges(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=f"alarm.{next(iter(wrong))}"):
        AlarmOptions(**wrong)  # type: ignore[arg-type]


@given(st.integers(1, 1_000), st.integers(20_000, 10**8), st.floats(0.1, 100))
def test_a_rate_changes_nothing_for_frames(alarms: int, frames: int, rate: float) -> None:
    asked = f"{alarms} per {frames} frames"
    plain = AlarmOptions(false_alarms=asked)
    assert plain.frames == AlarmOptions(false_alarms=asked, rate=f"{rate:.2f}Hz").frames
    assert plain.frames * alarms == pytest.approx(frames)


def test_a_recipe_keeps_them(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("recipe") / "recipe.toml"
    recipe = Recipe(alarm=AlarmOptions("none", "F", "1 per week", "4Hz", 1_000))
    path.write_text(dump_recipe(recipe))
    assert load_recipe(path).alarm == recipe.alarm
