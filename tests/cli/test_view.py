"""The picture of snap monitor, and the block characters that it is made of."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapcli.cli.blocks import bar, columns, spark
from snapcli.cli.view import View
from snapcli.monitor.alarm import FieldAlarm
from snapcli.stages.monitor import MonitorFrame, MonitorSession
from tests.unit.tiny_monitor import tiny_alarm

SEEN = MonitorFrame(
    frame=0,
    time_s=1000.0,
    condition="noise",
    severity=3,
    predicted=7,
    class_name="seven",
    abstain=False,
    score_q16=70_000,
    uncertainty_q16=16_384,  # 0.25
    foreign=False,
    foreign_q16=32_768,  # 0.5
    rate_q24=1 << 21,  # 0.125
    threshold_q24=1 << 23,  # 0.5
    alarm=False,
    statistic_q16=3 << 15,  # 1.5
    alarms=2,
    baseline_left=0,
    right_q24=12 << 20,  # 75 %
    count=2_000_000,
)


def watched(budget: float | None = None, alarm: FieldAlarm | None = None) -> MonitorSession:
    nothing: Iterator[MonitorFrame] = iter(())
    names = ("digits-001", "qemu-m4", "QEMU", "instructions")
    nobody = cast(Any, None)  # the picture asks no device
    return MonitorSession(*names, budget, 49_152, alarm, 7400, nothing, nobody, nobody)


def frames(count: int, every: int = 4, per_s: float = 20.0) -> list[MonitorFrame]:
    """Each `every`th abstains."""
    return [
        replace(
            SEEN,
            frame=i,
            time_s=1000 + i / per_s,
            abstain=i % every == 0,
            foreign=i % 50 == 0,
            uncertainty_q16=50_000 if i % every == 0 else 10_000,
        )
        for i in range(count)
    ]


def shown(view: View, width: int) -> list[str]:
    return ["".join(text for text, _ in line) for line in view.lines(width)]


def filled(count: int, budget: float | None = None) -> View:
    view = View(watched(budget))
    for seen in frames(count):
        view.add(seen)
    return view


@pytest.mark.parametrize("budget", [None, 0.1])
@pytest.mark.parametrize("width", [1, 20, 46, 80, 120, 300])
@pytest.mark.parametrize("count", [1, 2, 150])
def test_no_line_is_wider_than_the_terminal_and_their_number_stands(
    budget: float | None, width: int, count: int
) -> None:
    lines = shown(filled(count, budget), width)
    assert len(lines) == len(shown(filled(1), 80))
    assert max(map(len, lines)) <= width


def test_all_that_matters_is_shown() -> None:
    text = "\n".join(shown(filled(150, 0.1), 80))
    for part in (
        *("digits-001 on qemu-m4", "150 of 7,400", "20.0 frames/s", "2,000,000 instructions"),
        *("noise, severity 3", "seven   accepts", "0.1526", "0.5000", "12.5 %", "of 10.0 %"),
        *(
            "38 of 150, 25.3 %; foreign 2.0 %",
            "frame 149: class seven, U 0.7629, noise, severity 3",
        ),
    ):
        assert part in text, part


def test_without_a_budget_the_rate_is_that_of_the_last_frames() -> None:
    assert "25.0 % of the last 100, no budget" in "\n".join(shown(filled(150), 80))


def test_a_frame_is_shown_beside_the_threshold_it_was_judged_by() -> None:
    view = filled(1)
    view.add(replace(SEEN, frame=1, threshold_q24=1 << 22))
    assert any("0.5000" in line for line in shown(view, 80))
    view.add(replace(SEEN, frame=2))
    assert any("0.2500" in line for line in shown(view, 80))


def test_the_bar_has_its_length_and_the_threshold_its_place() -> None:
    line = next(line for line in shown(filled(2), 118) if line.startswith("U "))
    track = line[18:]
    assert len(track) == 100
    assert track.index("┃") == 50
    assert track[:15] == "█" * 15  # 10000 / 65536
    assert set(track[16:]) == {"·", "┃"}


def test_the_line_for_no_terminal() -> None:
    line = filled(9, 0.1).plain()
    assert line.startswith("frame 9/7400  noise, severity 3  class seven  U 0.7629  threshold")
    assert "ABSTAINS" in line
    assert "rate 12.5 % of 10.0 %" in line
    assert View(watched()).plain() == "waiting for the first frame"
    assert len(shown(View(watched()), 10)) == 2


@given(st.floats(-1, 2), st.integers(1, 100))
def test_a_bar_is_as_long_as_its_share(share: float, width: int) -> None:
    drawn = bar(share, width)
    inside = min(max(share, 0.0), 1.0)
    assert len(drawn) <= width
    assert abs(len(drawn) - inside * width) <= 1


def test_sparks() -> None:
    assert spark([0.0, 0.5, 1.0, -1.0, 2.0]) == "▁▅█▁█"


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=20).filter(any), st.integers(1, 5))
def test_columns_are_as_high_as_their_counts(counts: list[int], height: int) -> None:
    lines = [f"{line:<{2 * len(counts)}}" for line in columns(counts, height)]
    assert len(lines) == height
    for i, count in enumerate(counts):
        cells = [line[2 * i] for line in lines]
        assert cells == [line[2 * i + 1] for line in lines]
        eighths = sum(" ▁▂▃▄▅▆▇█".index(cell) for cell in cells)
        assert (eighths > 0) == (count > 0)
        assert abs(eighths - 8 * height * count / max(counts)) <= 1


ALARM = tiny_alarm()


def alarmed(*seen: MonitorFrame) -> str:
    view = View(watched(alarm=ALARM))
    for frame in seen:
        view.add(frame)
    return "\n".join([*shown(view, 80), view.plain()])


def test_the_lamp_the_statistic_and_how_long() -> None:
    quiet, on = replace(SEEN, statistic_q16=1 << 16), replace(SEEN, alarm=True, alarms=3)
    text = alarmed(quiet, quiet)
    assert "● quiet for 2 frames   2 alarms so far" in text
    assert "statistic  1.0    ▅▅" in text
    assert "alarm quiet for 2 frames" in text
    text = alarmed(quiet, on, on, on)
    assert "● ON for 3 frames   3 alarms so far" in text
    learning = replace(SEEN, baseline_left=7)
    assert "● learns what is normal, 7 frames to go" in alarmed(on, learning)


def test_the_estimated_accuracy_is_told_with_or_without_an_alarm() -> None:
    told = "about 75 % right, by its own estimate, over the last 9 frames"
    assert told in "\n".join(shown(filled(9), 80))
    assert "alarm" not in "\n".join(shown(filled(9), 80))


@pytest.mark.parametrize("width", [1, 20, 46, 80, 120, 300])
def test_an_alarm_fits_the_terminal(width: int) -> None:
    view = View(watched(alarm=ALARM))
    for i in range(150):
        view.add(replace(SEEN, alarm=i % 9 > 5, statistic_q16=i << 12))
    assert max(map(len, shown(view, width))) <= width
