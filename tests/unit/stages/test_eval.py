"""eval: what it refuses, what of an earlier table stays, and the device beside its reference."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from snapcli.config import CalibrateOptions, EvalOptions
from snapcli.data.evaluation import Evaluation, Key
from snapcli.data.streams import FOREIGN, build_stream
from snapcli.errors import ArtifactError, SnapError, UsageError
from snapcli.judging.device_evidence import device_evidence, played_stream
from snapcli.judging.evidence import collect
from snapcli.judging.observe import IntegerNetwork
from snapcli.methods.method import LOGITS, SURPRISAL, UNCERTAINTY
from snapcli.origin.origin import AttachedOrigin, TrainedOrigin
from snapcli.results.eval import EvalReport, MethodFigures
from snapcli.runs import Run, write_json
from snapcli.stages.eval import evaluate
from tests.unit.made_evidence import played
from tests.unit.stages.tiny_run import PLAYED_FRAMES, calibrate, play, tiny_dataset, tiny_run
from tests.unit.tiny_monitor import tiny_monitor

pytestmark = pytest.mark.slow

QUICK = EvalOptions(("entropy",), (), 20, 20, 0)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    given(monkeypatch, corrupted=False)
    return tiny_run(tmp_path / "runs")


def given(monkeypatch: pytest.MonkeyPatch, corrupted: bool, labelled: bool = True) -> None:
    data = replace(tiny_dataset(corrupted), labelled=labelled)
    for kind in (TrainedOrigin, AttachedOrigin):
        monkeypatch.setattr(kind, "dataset", lambda *_: data)


def rows(report: EvalReport, source: str = "int8") -> dict[str, MethodFigures]:
    return {m.name: m for m in report.sources[source].methods}


def done(report: EvalReport) -> set[str]:
    return {name for name, m in rows(report).items() if m.status == "done"}


# ---- What stays of an earlier eval ------------------------------------------


def test_rows_are_added_to_those_of_the_same_artifacts_and_options(run: Run) -> None:
    first = evaluate(run, QUICK)
    assert done(first) == {"max-probability", "snap", "entropy"}
    second = evaluate(run, replace(QUICK, methods=("energy",)))
    assert done(second) == {"max-probability", "snap", "entropy", "energy"}
    # As if all had been asked at once.
    at_once = evaluate(run, replace(QUICK, methods=("entropy", "energy")))
    for name in done(second):
        assert repr(rows(second)[name]) == repr(rows(at_once)[name])
    assert list(rows(second)) == list(rows(first))


def test_what_was_not_asked_for_says_so(run: Run) -> None:
    found = rows(evaluate(run, QUICK))
    assert found["mahalanobis-full"].why == found["deep-ensemble"].why == "not asked for"
    assert found["mahalanobis-full"].errors is None
    huber = rows(evaluate(run, replace(QUICK, methods=("snap-huber",))))["snap-huber"]
    assert (huber.status, huber.gains) == ("not run", {})
    assert "heads" in huber.why


@pytest.mark.parametrize("other", [{"limit": 21}, {"replicates": 21}, {"streams": 1}])
def test_other_options_lose_nothing_unless_asked_to(run: Run, other: dict[str, int]) -> None:
    evaluate(run, QUICK)
    there = (run.path("eval") / "eval.json").read_bytes()
    changed = replace(QUICK, methods=("energy",), **other)
    with pytest.raises(UsageError, match="--limit 20 --replicates 20 --streams 0") as refused:
        evaluate(run, changed)
    assert "--anew" in str(refused.value.hint)
    assert (run.path("eval") / "eval.json").read_bytes() == there
    found = evaluate(run, replace(changed, anew=True))
    assert done(found) == {"max-probability", "snap", "energy"}


def test_options_that_are_left_out_are_those_of_the_table(run: Run) -> None:
    evaluate(run, QUICK)
    found = evaluate(run, EvalOptions(("energy",)))
    assert (found.limit, found.replicates, found.streams) == (20, 20, 0)
    assert done(found) == {"max-probability", "snap", "entropy", "energy"}


def test_another_calibration_begins_anew(run: Run) -> None:
    evaluate(run, QUICK)
    calibrate(run, "isotonic")
    assert run.state("eval").status == "stale"
    found = evaluate(run, replace(QUICK, methods=("energy",)))
    assert done(found) == {"max-probability", "snap", "energy"}
    assert run.state("eval").status == "done"


def test_a_table_that_was_judged_otherwise_is_kept_until_it_is_thrown_away(run: Run) -> None:
    evaluate(run, QUICK)
    with run.write("eval", after=("attach", "calibrate")) as out:
        write_json(out / "eval.json", {"schema": 1})
    there = run.path("eval/eval.json").read_bytes()
    error = refused(run, replace(QUICK, methods=("energy",)), UsageError)
    assert "--anew" in error.hint
    assert run.path("eval/eval.json").read_bytes() == there
    assert "energy" in done(evaluate(run, replace(QUICK, methods=("energy",), anew=True)))


def test_a_damaged_table_is_not_built_upon(run: Run) -> None:
    evaluate(run, QUICK)
    path = run.path("eval/eval.json")
    path.write_text(path.read_text().replace("0.", "1.", 1))
    found = evaluate(run, replace(QUICK, methods=("energy",)))
    assert "entropy" not in done(found)


def test_a_source_that_was_judged_stays_when_the_next_is_interrupted(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(run)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("snapcli.stages.eval.device_evidence", interrupt)
    with pytest.raises(KeyboardInterrupt):
        evaluate(run, QUICK)
    assert run.state("eval").status == "done"
    found = evaluate(run, replace(QUICK, methods=("energy",), on=("int8",)))
    assert done(found) == {"max-probability", "snap", "entropy", "energy"}


# ---- What is refused --------------------------------------------------------


def refused(run: Run, options: EvalOptions, kind: type[SnapError]) -> SnapError:
    before = run.records()
    with pytest.raises(kind) as error:
        evaluate(run, options)
    assert run.records() == before
    assert error.value.hint
    return error.value


@pytest.mark.parametrize("methods", [("trained",), ("all",), ("entropy", "deep-ensemble")])
def test_a_finished_model_has_no_variants(run: Run, methods: tuple[str, ...]) -> None:
    error = refused(run, replace(QUICK, methods=methods), UsageError)
    assert "single-pass" in error.hint


def test_a_finished_model_has_no_float(run: Run) -> None:
    error = refused(run, replace(QUICK, on=("float",)), UsageError)
    assert "--on int8" in error.hint


def test_without_labels_nobody_knows(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    given(monkeypatch, corrupted=True, labelled=False)
    error = refused(run, QUICK, UsageError)
    assert "--labels" in error.hint


def test_without_a_played_stream_its_command_is_named(run: Run) -> None:
    error = refused(run, replace(QUICK, on=("device",)), ArtifactError)
    assert "snap bench --stream" in error.hint
    assert str(run.root) in error.hint or run.name in error.hint


def test_a_stream_of_dev_is_none(run: Run) -> None:
    play(run, split="dev")
    assert played_stream(run) is None
    refused(run, replace(QUICK, on=("device",)), ArtifactError)


def test_a_stream_of_an_older_calibration_is_none(run: Run) -> None:
    stage = play(run)
    assert played_stream(run) == stage
    calibrate(run, "isotonic")
    assert played_stream(run) is None


# ---- The device -------------------------------------------------------------


@pytest.fixture
def streamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    given(monkeypatch, corrupted=True)
    run = tiny_run(tmp_path / "runs")
    play(run)
    return run


def test_what_the_device_sent_is_what_its_reference_sees(streamed: Run) -> None:
    data, monitor = tiny_dataset(True), tiny_monitor()
    network = IntegerNetwork(monitor, "gaussian", {})
    integer = collect(network.observe, Evaluation(data, 10), CalibrateOptions(), 0, lambda *_: None)
    integer = replace(integer, dev_streams=(played("dev", 0),))
    scale = float(monitor.body.graph.tensors[monitor.body.logits_tensor].scale)
    stage = played_stream(streamed)
    assert stage is not None
    found = device_evidence(streamed, stage, data, scale, integer)

    plan, (stream,) = build_stream(data, "test", 0), found.test_streams
    assert len(stream) == PLAYED_FRAMES
    assert [s.kind for s in stream.segments] == ["clean", *["corrupted"] * 5, "foreign"]
    for segment, part in zip(plan.segments, stream.parts, strict=False):
        reference = network.observe(plan.inputs(segment)[: len(part)])
        for name in (LOGITS, SURPRISAL, UNCERTAINTY):
            np.testing.assert_array_equal(part.outputs[name], reference[name])
        np.testing.assert_array_equal(part.y, plan.labels(segment)[: len(part)])

    # Every frame is in the condition that its segment names, with the example it was made of.
    for key in (Key("test", "clean"), *found.cells, *found.foreign):
        split = "foreign" if key.split == "ood" else ("clean", "corrupted")[key.severity > 0]
        segments = [
            s
            for s in plan.segments
            if (s.kind, s.condition, s.severity) == (split, key.condition, key.severity)
            and s.first < PLAYED_FRAMES
        ]
        rows = np.concatenate([s.rows[: PLAYED_FRAMES - s.first] for s in segments])
        np.testing.assert_array_equal(found.rows[key], rows)
        y = np.full(len(rows), FOREIGN) if key.split == "ood" else data.test.y[rows]
        np.testing.assert_array_equal(found.conditions[key].y, y)
    assert {k.severity for k in found.cells} == {1}
    assert sum(len(found.conditions[k]) for k in found.conditions if k.split != "dev") == len(
        stream
    )

    # What it was fitted to is the reference's.
    assert found.train is integer.train
    assert found.dev.clean is integer.dev.clean
    assert found.dev.corrupted == integer.dev.corrupted
    assert found.dev_streams is integer.dev_streams


def test_the_table_has_the_device_beside_the_integers(streamed: Run) -> None:
    options = EvalOptions(("mahalanobis-full", "snap-s"), ("device",), 10, 20, 0)
    alone = evaluate(streamed, options)
    assert list(alone.sources) == ["device"]
    device = rows(alone, "device")
    assert {n for n, m in device.items() if m.status == "done"} == {
        *("max-probability", "snap", "snap-s"),
    }
    assert "link" in device["mahalanobis-full"].why
    source = alone.sources["device"]
    assert source.examples == {"clean": 2000, "corrupted": 1000, "strange": 50}
    assert source.stream is not None
    assert source.stream.frames == PLAYED_FRAMES
    assert played_stream(streamed) in streamed.records()["eval"]["inputs"]
    # Integers that are asked later stand before it.
    both = evaluate(streamed, replace(options, on=("int8",)))
    assert list(both.sources) == ["int8", "device"]
    assert rows(both)["mahalanobis-full"].status == "done"
    assert repr(both.sources["device"]) == repr(source)
    assert played_stream(streamed) in streamed.records()["eval"]["inputs"]
