"""A tiny run that an alarm can be fitted to: with the scores that attach keeps."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from snapcli.data.evaluation import Evaluation
from snapcli.judging.raw_scores import SCORES_FILE, Scores, save_scores
from snapcli.monitor.body import save_body
from snapcli.origin.origin import AttachedOrigin
from snapcli.runs import Run
from tests.unit.stages.tiny_run import calibrate, tiny_dataset, tiny_run
from tests.unit.tiny_monitor import tiny_monitor, tiny_tflite

LIMIT = 100  # examples of a condition


def raw_scores(evaluation: Evaluation) -> Scores:
    body = tiny_monitor("gated").body
    graph = body.graph
    return {
        key: body.run(graph.quantize(evaluation.dataset.front_end(evaluation.raw(key))))
        for key in evaluation.keys
    }


def alarm_run(runs: Path, monkeypatch: pytest.MonkeyPatch, corrupted: bool = True) -> Run:
    data = tiny_dataset(corrupted)
    monkeypatch.setattr(AttachedOrigin, "dataset", lambda *_: data)
    monkeypatch.setattr(AttachedOrigin, "limit", lambda *_: LIMIT)
    # A tiny run has no whole report of its calibration.
    monkeypatch.setattr(
        "snapcli.judging.shifts.calibrate_record", lambda _: SimpleNamespace(options=None)
    )
    run = tiny_run(runs)
    with run.write("attach", after=()) as out:
        save_body(tiny_monitor().body, tiny_tflite(), out)
        save_scores(out / SCORES_FILE, raw_scores(Evaluation(data, LIMIT)))
    calibrate(run, "gated")
    return run
