"""What bench does with a device, and what it makes of the answers."""

import json
import os
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from snapcli.config import BenchOptions
from snapcli.device import Profile
from snapcli.errors import ArtifactError, UsageError
from snapcli.jsontext import dumps
from snapcli.measuring.energy import PowerTrace, with_energy
from snapcli.measuring.exact import Reference
from snapcli.measuring.firmware import built_firmware
from snapcli.results.bench import (
    PROFILED,
    BenchReport,
    kernel_costs,
    report_from,
    stage_costs,
    step_costs,
)
from snapcli.runs import Run, create_run, write_json
from snapcli.stages.bench import bench, measure, microseconds
from snapcli.targets import load_target

from ..tiny_monitor import random_inputs
from .board_report import EXPORTED, report, step
from .fake_device import HELLO, STEP, FakeDevice, controlled

INPUTS = random_inputs(60, seed=3)


@pytest.mark.parametrize("warmup", [0, 7, 70])
def test_the_stream_starts_after_the_warm_up(warmup: int) -> None:
    device = FakeDevice(controlled())
    told: list[int] = []
    measured = measure(device, INPUTS, warmup, told.append)  # type: ignore[arg-type]
    expected = Reference(controlled()).answers(INPUTS)
    assert [replace(a, count=0) for a in measured.answers] == expected
    assert told == list(range(1, 61))
    assert len(measured.profiles) == PROFILED
    # The timed runs are the last ones: a power trace is cut by that.
    assert device.asked[warmup:] == [x.tobytes() for x in INPUTS]
    assert measured.timing.mean == np.mean([a.count for a in measured.answers])
    assert np.all(np.diff(measured.timing.histogram.edges) % STEP == 0)


def test_the_mark_of_the_stack_is_that_of_the_text_commands_too() -> None:
    device = FakeDevice(controlled())
    measured = measure(device, INPUTS, 1, lambda _: None)  # type: ignore[arg-type]
    first_words = {command.split()[0] for command in device.said}
    assert first_words >= {"name", "profile", "timestamp", "db", "infer", "results", "help"}
    assert measured.stack.used_bytes == 700


def test_steps_have_names_stages_and_work() -> None:
    device = FakeDevice(controlled())
    profiles = [device.profile(INPUTS[0].tobytes())] * 2
    profiles[1] = Profile(profiles[0].inference, (800, 300, 300))
    steps = step_costs(profiles, EXPORTED, "instructions")
    assert [(s.name, s.stage, s.kernel, s.mean, s.macs) for s in steps] == [
        ("stem CONV_2D", "backbone", "snapnn_conv_s8", 700, 200),
        ("stem head", "heads", "snapuq_residual_s8", 300, 0),
        ("score and map", "map", "snapuq_map_gated_q16", 200, 0),
    ]
    assert sum(s.share for s in steps) == pytest.approx(1)
    stages = stage_costs((*steps, replace(steps[0], name="other", mean=100)))
    assert [(s.name, s.mean, s.macs) for s in stages] == [
        ("backbone", 800, 400),
        ("heads", 300, 0),
        ("map", 200, 0),
    ]


def test_kernels_stand_against_their_inner_loops() -> None:
    profiles = [
        Profile(FakeDevice(controlled()).profile(INPUTS[0].tobytes()).inference, (600,) * 4)
    ]
    twice = [*EXPORTED, step("block CONV_2D", "backbone", "snapnn_conv_s8", 400, 0.8)]
    steps = step_costs(profiles, twice, "instructions")
    # 3 and 1.5 instructions per MAC, where the loop has 0.8.
    assert [s.times_bound for s in steps] == [pytest.approx(3.75), None, None, pytest.approx(1.875)]
    kernels = kernel_costs(steps, "instructions")
    assert [(k.name, k.calls, k.mean, k.macs, k.bound) for k in kernels] == [
        ("snapnn_conv_s8", 2, 1200, 600, 0.8),
        ("snapuq_residual_s8", 1, 600, 0, None),
        ("snapuq_map_gated_q16", 1, 600, 0, None),
    ]
    assert [k.times_bound for k in kernels] == [pytest.approx(2.5), None, None]
    # Cycles are not instructions: the bound is known, how far they are from it is not.
    on_board = kernel_costs(step_costs(profiles, twice, "cycles"), "cycles")[0]
    assert (on_board.bound, on_board.times_bound) == (0.8, None)


def test_only_time_is_told_in_microseconds() -> None:
    assert microseconds(HELLO) is None
    board = replace(HELLO, is_emulator=False, counter_unit="cycles", counter_step=1)
    assert microseconds(replace(board, counter_hz=80_000_000)) == pytest.approx(1 / 80)
    host = replace(HELLO, is_emulator=False, counter_unit="nanoseconds", counter_step=1000)
    assert microseconds(replace(host, counter_hz=1_000_000)) == pytest.approx(1e-3)
    assert microseconds(replace(HELLO, is_emulator=False)) is None


# ---- Energy -----------------------------------------------------------------


def trace(path: Path, pulses: int, samples: int = 50, period_us: float = 2.0) -> PowerTrace:
    """0.1 W while an inference runs, which takes samples * period; else 0.02 W."""
    rows, time = ["time_s,power_w,marker"], 0.0
    for marker, count in [(0, 20), *[(1, samples), (0, 20)] * pulses]:
        for _ in range(count):
            rows.append(f"{time:.9f},{0.1 if marker else 0.02},{marker}")
            time += period_us * 1e-6
    path.write_text("\n".join(rows))
    return PowerTrace(path, None)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    made = create_run(tmp_path / "runs", "digits")
    made.add_json("bench/small-mcu", (), asdict(report()))
    return made


def test_a_report_is_read_back_as_it_was() -> None:
    assert report_from(json.loads(dumps(report()))) == report()
    with pytest.raises(ArtifactError, match="another version"):
        report_from({"schema": 2})


def test_c_of_another_version_is_not_benched(tmp_path: Path) -> None:
    made = create_run(tmp_path / "runs", "digits")
    with made.write("export-c/qemu-m4", after=()) as out:
        write_json(out / "export.json", {"schema": 1, "steps": [{"name": "a", "stage": "b"}]})
    with made.write("flash/qemu-m4", after=("export-c/qemu-m4",)) as out:
        write_json(out / "size.json", {})
    with pytest.raises(ArtifactError, match="exported by another version") as caught:
        built_firmware(made, load_target("qemu-m4"))
    assert "snap export-c --target qemu-m4" in str(caught.value.hint)


def test_a_trace_is_added_to_the_newest_bench(run: Run, tmp_path: Path) -> None:
    made = 2 + PROFILED + 4
    found = with_energy(run, load_target("small-mcu"), trace(tmp_path / "t.csv", made))
    assert found.energy is not None
    # 98 us between the first and the last high sample; beside them half of each slope between
    # 0.02 W and 0.1 W, 1 us with 0.08 W in the mean.
    assert found.energy.mean_uj == pytest.approx(98 * 0.1 + 2 * 0.08)
    assert (found.energy.inferences, found.energy.windows) == (4, made)
    assert found.notes == ()
    assert replace(found, energy=None) == report()
    stored = run.path("bench/small-mcu-002.json")
    assert report_from(json.loads(stored.read_text())) == found
    assert run.state("bench/small-mcu").status == "done"


@pytest.mark.parametrize(
    ("pulses", "samples", "period_us", "said"),
    [
        (9, 50, 2.0, "shows 9 inferences, the bench made 16"),
        (4, 5, 20.0, "only 5 samples"),
        (4, 50, 3.0, "150.0 us in the trace and 100.0 us by the device's clock"),
    ],
)
def test_what_is_doubtful_is_said(
    run: Run, tmp_path: Path, pulses: int, samples: int, period_us: float, said: str
) -> None:
    given = trace(tmp_path / "t.csv", pulses, samples, period_us)
    (note,) = with_energy(run, load_target("small-mcu"), given).notes
    assert said in note


@pytest.mark.parametrize("age", [None, "old", "new"])
def test_a_trace_is_read_behind_its_bench(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, age: str | None
) -> None:
    """The board is not there; the bench before stands for the one that it would make."""
    monkeypatch.setattr("snapcli.stages.bench._measured", lambda *_: report())
    given = PowerTrace(tmp_path / "t.csv", None)
    if age:
        given = trace(tmp_path / "t.csv", 4)
        if age == "old":
            os.utime(given.path, (1e9, 1e9))
        else:
            os.utime(given.path, (4e9, 4e9))

    def benched() -> BenchReport:
        return bench(run, "small-mcu", BenchOptions(), "/dev/none", given)

    if age == "new":
        assert benched().energy is not None
        return
    with pytest.raises(UsageError, match="older than this bench" if age else "no trace") as caught:
        benched()
    later = "The bench is kept; then: snap bench --target small-mcu --power-trace"
    assert later in str(caught.value.hint)


def test_an_emulator_takes_no_power(run: Run, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="qemu-m4 is an emulator"):
        bench(run, "qemu-m4", BenchOptions(), None, trace(tmp_path / "t.csv", 4))


def test_a_trace_needs_its_bench(run: Run, tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="no bench of big-mcu"):
        with_energy(run, load_target("big-mcu"), trace(tmp_path / "t.csv", 4))
    with pytest.raises(UsageError, match="shows 3 inferences, the bench timed 4"):
        with_energy(run, load_target("small-mcu"), trace(tmp_path / "t.csv", 3))
    assert not run.path("bench/small-mcu-002.json").exists()
