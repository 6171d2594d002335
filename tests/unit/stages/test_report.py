"""What the page of a run is made from: all that is up to date, and no more."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from snapcli.config import CMSIS_NN, CalibrateOptions, Recipe, dump_recipe
from snapcli.emit import build_program
from snapcli.errors import ArtifactError
from snapcli.monitor.decision import decision_to_dict
from snapcli.monitor.monitor import CALIBRATION_FILE
from snapcli.origin.recipe import CONFIG
from snapcli.pricing.kernel_set import kernels_named
from snapcli.report.numbers import kilobytes
from snapcli.results.calibrate import CalibrateRecord, CalibrateReport
from snapcli.results.export_c import REPORT, StoredExport
from snapcli.results.export_c import SCHEMA as EXPORT_SCHEMA
from snapcli.results.stream import SCHEMA, SegmentReport
from snapcli.runs import Run, create_run, json_writer, write_json
from snapcli.stages.report import report
from tests.conftest import snap
from tests.unit.tiny_monitor import tiny_monitor

from ..report.example import example
from ..report.figures import figures, heads
from .board_report import report as bench_report
from .made_stream import flash_report, stream_files
from .tiny_run import tiny_run

pytestmark = pytest.mark.slow

EXACT = "the integer reference, which the device equals bit for bit"


def made(folder: Path, inexact: int = 0) -> Run:
    """Trained, flashed and benched on a board, and evaluated. inexact: answers of the bench."""
    run = create_run(folder, "digits")
    run.path(CONFIG).write_text(dump_recipe(Recipe()))
    with run.write("train", (), seed=13, beside=(CONFIG,)) as out:
        (out / "model").write_text("1")
    with run.write("flash/small-mcu", ("train",)) as out:
        write_json(out / "size.json", flash_report("small-mcu"))
    bench = bench_report()
    bench = replace(bench, bit_exact=bench.inputs - inexact)
    run.add_files(
        "bench/small-mcu",
        "bench/small-mcu",
        ("flash/small-mcu",),
        {".json": json_writer(asdict(bench))},
    )
    with run.write("eval", ("train",)) as out:
        write_json(out / "eval.json", asdict(example(["float", "int8"])))
    run.make_latest()
    return run


def played(run: Run, frames: int, schema: int = SCHEMA) -> None:
    """A stream whose device was sure but for one frame."""
    doubt = np.zeros(frames, np.uint32)
    doubt[frames // 2] = 2**15
    segment = SegmentReport("clean", "clean", 0, 0, frames, 1, 0, 0)
    arrays = {
        "uncertainty_q16": doubt,
        "threshold_q24": np.full(frames, 2**22),
        "abstain": doubt > 0,
    }
    files = stream_files(frames, 2, 10, arrays, schema=schema, segments=(segment,))
    run.add_files("stream/small-mcu", "bench/small-mcu-stream", ("flash/small-mcu",), files)


def test_all_that_is_there(tmp_path: Path) -> None:
    run = made(tmp_path)
    played(run, 3500)
    found = report(run)
    assert set(found.shown) == {"flash/small-mcu", "bench/small-mcu", "stream/small-mcu", "eval"}
    assert set(found.missing) >= {"cost", "taps", "quantize", "ablate", "eval device"}
    assert found.missing["eval device"].endswith("--on device")
    text = Path(found.page).read_text()
    assert found.page == str(run.path("report/index.html"))
    assert len(text.encode()) == found.size_bytes
    for words in ("SNAP fits small-mcu", "Played through small-mcu", "small-mcu: by stage"):
        assert words in text
    assert run.state("report").status == "done"
    # The one doubt of the stream survives its thinning.
    assert "refused" in text
    assert text.count('class="alarm"') >= 1


def test_a_page_gets_stale_with_what_it_shows(tmp_path: Path) -> None:
    run = made(tmp_path)
    report(run)
    with run.write("eval", ("train",)) as out:
        write_json(out / "eval.json", asdict(example(["float"], seed=1)))
    assert run.state("report").status == "stale"
    # Nothing waits for a page.
    assert run.next_command() != "snap report"


def test_what_is_stale_is_left_out_and_said(tmp_path: Path) -> None:
    run = made(tmp_path)
    with run.write("train", (), seed=14, beside=(CONFIG,)) as out:
        (out / "model").write_text("2")
    found = report(run)
    assert found.shown == ()
    assert "eval is stale: train has changed since" in found.missing["eval"]
    text = Path(found.page).read_text()
    assert "Nothing was measured yet." in text
    assert "eval is stale" in text


def test_only_a_bench_shows_that_the_device_is_exact(tmp_path: Path) -> None:
    run = made(tmp_path)
    assert EXACT in Path(report(run).page).read_text()
    (stored,) = run.path("bench").glob("*.json")
    stored.unlink()
    unmeasured = Path(report(run).page).read_text()
    inexact = Path(report(made(tmp_path, inexact=1)).page).read_text()
    for text in (unmeasured, inexact):
        assert EXACT not in text
        assert "the integer reference" in text


@pytest.mark.parametrize("stage", ["eval", "stream/small-mcu"])
def test_what_another_version_stored(tmp_path: Path, stage: str) -> None:
    run = made(tmp_path)
    if stage == "eval":
        with run.write("eval", ("train",)) as out:
            write_json(out / "eval.json", {"schema": 0})
    else:
        played(run, 10, schema=0)
    found = report(run)
    assert stage not in found.shown
    assert "another version" in found.missing[stage]


def test_an_arena_is_drawn_without_the_files_of_its_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of CMSIS-NN, which would have to be fetched."""

    def fetched(given: Path | None) -> Path:
        raise AssertionError("CMSIS-NN was asked for")

    monkeypatch.setattr("snapcli.pricing.kernel_set.cmsis_nn_dir", fetched)
    run, monitor = tiny_run(tmp_path), tiny_monitor()
    with run.write("calibrate", ("attach",)) as out:
        device = {"device": decision_to_dict(monitor.decision)}
        write_json(out / CALIBRATION_FILE, asdict(calibrated()) | device)
    plan = build_program(monitor.body.graph, monitor.body, kernels_named(CMSIS_NN)).full
    exported = StoredExport(16 * "0", "qemu-m4", CMSIS_NN, plan.arena_bytes, ())
    with run.write("export-c/qemu-m4", ("attach", "calibrate")) as out:
        write_json(out / REPORT, {"schema": EXPORT_SCHEMA, **asdict(exported)})
    done = report(run)
    assert set(done.shown) == {"calibrate", "export-c/qemu-m4"}
    text = Path(done.page).read_text()
    assert f"{kilobytes(plan.arena_bytes)}, kernels cmsis-nn." in text
    assert text.count('class="buffer b-') == len(plan.buffers)
    # Of an attached run the figures without intervals are those of calibrate.
    assert "pooled 0.900 against 0.800" in text
    assert "heads are idle" not in text


def calibrated(idle: bool = False) -> CalibrateRecord:
    report = CalibrateReport(
        **vars(figures(heads(idle=idle))),
        run="tiny-001",
        threshold_rule="coverage",
        test_accuracy=0.9,
    )
    return CalibrateRecord(CalibrateOptions(), report)


def test_idle_heads_are_said_with_the_command_of_the_run(tmp_path: Path) -> None:
    run = tiny_run(tmp_path)
    with run.write("calibrate", ("attach",)) as out:
        write_json(out / CALIBRATION_FILE, asdict(calibrated(idle=True)))
    text = Path(report(run).page).read_text()
    lead, _, rest = text.partition("The heads are idle")[2].partition("</p>")
    command = f"snap calibrate --run {run.root} --taps none"
    assert command in lead
    assert command in rest
    assert 'id="foreign"' in rest
    assert 'id="answers"' in rest


def test_tables_of_ablations_whatever_they_hold(tmp_path: Path) -> None:
    run = made(tmp_path)
    table: dict[str, Any] = {"title": "Ranks", "columns": [], "rows": []}
    table["columns"] = [{"title": "rank", "better": ""}, {"title": "gain", "better": "higher"}]
    table["rows"] = [{"rank": 0, "gain": None}]
    for kind, title in (("rank", "Ranks"), ("taps", "Which taps")):
        with run.write(f"ablate/{kind}", ("train",)) as out:
            write_json(out / f"{kind}.json", {**table, "title": title})
    text = Path(report(run).page).read_text()
    assert "<h4>Ranks</h4>" in text
    assert "<h4>Which taps</h4>" in text


def test_the_command(tmp_path: Path) -> None:
    run = made(tmp_path / "runs")
    shown = snap("report", "--runs-dir", str(tmp_path / "runs"))
    assert (shown.code, shown.out.strip()) == (0, str(run.path("report/index.html")))
    elsewhere = tmp_path / "page.html"
    arguments = ("--runs-dir", str(tmp_path / "runs"), "--output", str(elsewhere), "--json")
    assert snap("report", *arguments).json["page"] == str(elsewhere)
    assert elsewhere.read_text().startswith("<!doctype html>")
    nowhere = snap(
        "report", "--runs-dir", str(tmp_path / "runs"), "--output", str(tmp_path / "a/b")
    )
    assert nowhere.code == ArtifactError.exit_code
    message, hint = nowhere.error()
    assert message.endswith(f"{tmp_path / 'a/b'}: the folder {tmp_path / 'a'} does not exist")
    assert "--output" in hint
    assert "space" not in hint
