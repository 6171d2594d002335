"""What bench and stream print, of devices that nobody has."""

from dataclasses import replace

import pytest

from snapcli.cli import measured
from snapcli.metrics.power import EnergyPerInference
from snapcli.metrics.timing import Histogram
from snapcli.results.stream import SegmentReport, StreamReport
from tests.unit.stages.board_report import report

ENERGY = EnergyPerInference(4, 12.5, 0.25, 12.0, 13.0, 16, 100.0, 50, 3.3)


def test_a_board_has_time_and_says_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    measured.bench(report(), profile=False)
    shown = capsys.readouterr().out
    for part in (
        *("cycles, mean", "microseconds, mean", "100.0 (deviation 0.0) at 80 MHz"),
        *("cycles per MAC", "8.00 (1,000 MAC)", "not measured (give --power-trace)"),
        *("percentiles 50 / 90 / 95 / 99", "5,404 B", "500 B of 4,096 B"),
        *("stem CONV_2D", "backbone", "60.0 %", "3.00", "All 4 runs took the same cycles."),
    ):
        assert part in shown, part
    assert "without monitor" not in shown


def test_energy_and_its_doubts(capsys: pytest.CaptureFixture[str]) -> None:
    measured.bench(replace(report(), energy=ENERGY, notes=("is it right?",)), profile=True)
    out, err = capsys.readouterr()
    assert "12.50 uJ per inference (deviation 0.25, 12.00 - 13.00), 4 windows, at 3.3 V" in out
    assert "note: is it right?" in err
    assert "layers, in the order of work" in out


def cells(shown: str, name: str) -> list[list[str]]:
    """Of the rows that begin with it."""
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in shown.splitlines()]
    return [row for row in rows if row and row[0] == name]


def test_a_profile_says_how_far_a_kernel_is_from_its_loop(
    capsys: pytest.CaptureFixture[str],
) -> None:
    emulated = replace(report(counter="instructions"), timing_us=None)
    measured.bench(emulated, profile=True)
    shown = capsys.readouterr().out
    figures = ["200", "600", "60.0 %", "3.00", "0.80", "3.75"]
    assert cells(shown, "stem CONV_2D") == [
        ["stem CONV_2D", "snapnn_conv_s8", "backbone", *figures]
    ]
    assert cells(shown, "snapnn_conv_s8") == [["snapnn_conv_s8", "1", *figures]]
    # Neither work nor a bound is known of a head.
    assert cells(shown, "snapuq_residual_s8")[0][2:] == ["", "300", "30.0 %", "", "", ""]
    assert "x bound" in shown


def test_cycles_have_no_distance_to_a_bound(capsys: pytest.CaptureFixture[str]) -> None:
    measured.bench(report(), profile=True)
    shown = capsys.readouterr().out
    assert cells(shown, "snapnn_conv_s8") == [
        ["snapnn_conv_s8", "1", "200", "600", "7.5", "60.0 %", "3.00", "0.80"]
    ]
    assert "bound, instructions" in shown
    assert "x bound" not in shown


def test_kernels_without_a_bound_have_no_column_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    """As those of the other kernel sets."""
    bare = replace(report().kernels[0], bound=None)
    measured.bench(replace(report(), kernels=(bare,)), profile=True)
    assert "bound" not in capsys.readouterr().out


def test_an_emulator_is_never_told_in_time(capsys: pytest.CaptureFixture[str]) -> None:
    counted = replace(report().timing, histogram=Histogram((8000, 8040, 8080, 8120), (1, 0, 3)))
    emulated = replace(report(counter="instructions"), timing=counted, timing_us=None)
    measured.bench(emulated, profile=False)
    shown = capsys.readouterr().out
    assert "4 runs by instructions, 40 to a column" in shown
    assert "  ▃▃  ██\n" in shown  # a third of 4 lines, nothing, all of them
    for word in ("microseconds", " us ", "MHz", "give --power-trace"):
        assert word not in shown


def test_a_stream_tells_what_was_refused(capsys: pytest.CaptureFixture[str]) -> None:
    played = StreamReport(
        schema=3,
        run="digits-001",
        target="small-mcu",
        part="STM32L432KC",
        model_id="0123456789abcdef",
        settings_check=1,
        image_crc=2,
        split="test",
        seed=0,
        frames=400,
        planned=7400,
        bit_exact=400,
        resumed_at=200,
        abstained=60,
        foreign=30,
        budget=0.1,
        watched="U",
        alarm_threshold=9.2,
        alarms=2,
        first_alarm=204,
        repeats=3,
        restarts=1,
        seconds=10.0,
        counter="cycles",
        timing=report().timing,
        segments=(
            SegmentReport("clean", "clean", 0, 0, 200, 10, 2, 0),
            SegmentReport("corrupted", "noise", 2, 200, 100, 20, 3, 50),
            SegmentReport("corrupted", "blur", 2, 300, 100, 30, 25, 100),
        ),
    )
    measured.stream(played, ["a.npz", "a.json"])
    shown = capsys.readouterr().out
    for part in (
        *("400 of 400 frames", "15.0 %, budget 10.0 %", "first 400 frames"),
        *("2 on U, the first at frame 205", "75.0 %"),
        *("went on from frame", "20.0", "3 requests sent again, 1 restart of the device"),
        *(
            "corrupted, severity 2",
            "25.0 %",
            "5.0 %",
            "7.5 %",
            "14.0 %",
            "1.0 %",
            "Stored: a.npz, a.json",
        ),
    ):
        assert part in shown, part
