"""The section of the page about an alarm."""

from dataclasses import replace
from math import nan

from snapcli.metrics.bootstrap import Interval
from snapcli.report.alarm import alarm_section
from snapcli.results.alarm import (
    AccuracyEstimate,
    AlarmReport,
    AlarmTimeline,
    Group,
    OffAccuracy,
    Scenes,
    ShiftFound,
    Silence,
    StreamFound,
)
from snapcli.results.eval import StreamSegment, StreamView

FOUND = StreamFound(
    frames=1000,
    clean_frames=700,
    events=3,
    share=0.2,
    harmful=2,
    found=2,
    delay=7.0,
    false_alarms=0.4,
    auprc=Interval(0.9, 0.8, 0.95),
    single=0.81,
    plain=0.7,
    plain_single=0.6,
    ahead=Interval(0.2, 0.1, 0.3),
    clears=40.0,
    late=0.0,
)
# Ten frames a point: clean, a shift that is found at frame 320, one that is not, a false alarm.
TIMELINE = AlarmTimeline(
    view=StreamView(
        1000,
        0.9,
        ((300, 400), (600, 700)),
        (
            StreamSegment("clean", "clean", 0, 0, 300),
            StreamSegment("corrupted", "fog", 3, 300, 100),
            StreamSegment("clean", "clean", 0, 400, 200),
            StreamSegment("corrupted", "hiss", 1, 600, 100),
            StreamSegment("clean", "clean", 0, 700, 300),
        ),
    ),
    statistic=tuple(9.0 if 32 <= i < 40 or i == 80 else 1.0 for i in range(100)),
    threshold=5.0,
    on=tuple(32 <= i < 40 or i == 80 for i in range(100)),
)
REPORT = AlarmReport(
    schema=1,
    run="tiny-001",
    detector="cusum",
    signal="F",
    reason="Asked for.",
    threshold=5.0,
    baseline=512,
    block=1,
    clean_stream_frames=0,
    frames_per_second=None,
    silence=Silence(10_000, 12_345, 8_000, 9_000, 500_000, 41, 0.002, 600, 0.0),
    enough=None,
    watched=400,
    groups=(Group("harmful", 4, 1.0, 6, 9), Group("harmless", 0, nan, nan, nan)),
    shifts=(
        ShiftFound("fog", 3, False, 0.12, 1.0, 6, 9),
        ShiftFound("hiss", 1, False, 0.01, 0.1, 400, 400),
    ),
    dev_stream=FOUND,
    test_stream=FOUND,
    paper_stream=FOUND,
    timeline=TIMELINE,
    scenes=Scenes(4, 7, FOUND, None, "too few"),
    accuracy=AccuracyEstimate(0.02, 0.03, (OffAccuracy("fog", 3, 0.8, 0.5),), 2),
    tried=(),
    state_bytes=60,
    instructions=93,
)


def test_without_an_alarm_there_is_no_section() -> None:
    assert alarm_section(None) == ""


def test_the_promise_and_what_was_counted() -> None:
    page = alarm_section(REPORT)
    for words in (
        "The detector cusum adds up what F says of each frame",
        "one false alarm in 10,000 frames. Expected: one in 12,345 frames",
        "8,000 frames at least between two",
        "41 alarms in 500,000 clean test frames, on in 0.2",
        "The first 512 frames of each stream",
        "60 bytes for each stream and 93 instructions a frame",
    ):
        assert words in page
    without = replace(REPORT, baseline=0, instructions=None, enough="Not enough data.")
    page = alarm_section(without)
    assert "of each stream tell it" not in page
    assert "60 bytes for each stream." in page
    assert "Not enough data." in page


def test_the_picture_tells_found_missed_and_false() -> None:
    page = alarm_section(REPORT)
    assert "2 events in which accuracy over 100 frames falls below 90.0" in page
    assert "1 found, the frames until then above;" in page
    assert "Alarms that begin in clean frames: 1." in page
    assert ">20</text>" in page  # frames from the first event to its alarm
    assert ">missed</text>" in page
    # Two bars of the strip, and not one from end to end.
    strip = page.split('class="alarm"')[0].rsplit("<path", 1)[1]
    assert strip.count("M") == 2


def test_a_shift_that_nobody_waited_for_has_no_delay() -> None:
    page = alarm_section(REPORT)
    every = page.split("Shifts of test data")[1].split("</table>")[0]
    assert "fog" in every
    assert "12.0" in every
    assert "400" not in every
    assert "cost less than 3 points" not in page  # there is none of these
    assert "80.0" in page.split("Estimated accuracy that is off")[1]
