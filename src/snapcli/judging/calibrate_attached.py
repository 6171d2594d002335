"""calibrate, of an attached run: the scores that attach kept -> map, threshold and decision.

There is no float model: what the device carries is fitted on what it computes, at once.
"""

from dataclasses import asdict, replace

import numpy as np

from snapcli.config import NO_TAPS, CalibrateOptions
from snapcli.data.evaluation import Evaluation, Key
from snapcli.data.streams import FOREIGN
from snapcli.judging.conditions import plain_detection
from snapcli.judging.decision import fit_decision
from snapcli.judging.evidence import dev_of
from snapcli.judging.raw_scores import SCORES_FILE, Scores, load_scores
from snapcli.methods.logits import FreeEnergy
from snapcli.methods.mahalanobis import MahalanobisFull
from snapcli.methods.method import LOGITS, Batch
from snapcli.monitor.body import Body
from snapcli.monitor.decision import ONE_Q16, Decision, decision_to_dict
from snapcli.monitor.monitor import CALIBRATION_FILE, load_body
from snapcli.origin.origin import origin_of
from snapcli.origin.recipe import run_recipe
from snapcli.progress import OnProgress, silent
from snapcli.results.calibrate import CalibrateReport
from snapcli.runs import Run, write_json
from snapcli.score.calibration import DetectionReport


def calibrate_attached(
    run: Run, options: CalibrateOptions, on_progress: OnProgress = silent
) -> CalibrateReport:
    folder = run.inputs("attach")
    # The conditions are those that attach has scored.
    evaluation = Evaluation(origin_of(run).dataset(on_progress), run_recipe(run).calibrate.limit)
    hint = f"Attach again: {run.remedy('attach')}"
    body = load_body(folder, hint)
    scores = load_scores(folder / SCORES_FILE, body, evaluation, hint)
    decision, report = decide(run.name, body, scores, evaluation, options)
    write_decision(run, decision, report, options)
    return report


def decide(
    name: str, body: Body, scores: Scores, evaluation: Evaluation, options: CalibrateOptions
) -> tuple[Decision, CalibrateReport]:
    if options.taps == NO_TAPS:
        body = body.without_taps()
        scores = {key: s.without_taps() for key, s in scores.items()}
    decision, figures = fit_decision(body, scores, evaluation, options)
    labelled, clean = evaluation.dataset.labelled, Key("test", "clean")
    right = scores[clean].predicted == evaluation.labels(clean)
    beside = _beside(body, scores, evaluation, figures.detection)
    return decision, CalibrateReport(
        **vars(replace(figures, detection=beside)),
        run=name,
        threshold_rule=options.threshold,
        test_accuracy=float(np.mean(right)) if labelled else float("nan"),
    )


def write_decision(
    run: Run, decision: Decision, report: CalibrateReport, options: CalibrateOptions
) -> None:
    with run.write("calibrate", after=("attach",)) as out:
        write_json(
            out / CALIBRATION_FILE,
            {
                "options": asdict(options),
                "report": asdict(report),
                "device": decision_to_dict(decision),
            },
        )


def _beside(
    body: Body, scores: Scores, evaluation: Evaluation, report: DetectionReport
) -> DetectionReport:
    """The report with what other single-pass methods of the table find in the same model: the
    energy of its logits, and the distance at the last tap, in the integers that attach kept."""
    scale = np.float64(body.graph.tensors[body.logits_tensor].scale)
    batches = {
        key: Batch({LOGITS: scored.logits * scale}, _labels(evaluation, key))
        for key, scored in scores.items()
    }
    method = FreeEnergy()
    method.fit(batches[Key("dev", "clean")], dev_of(batches))
    others = {
        FreeEnergy.name: {key: method.score(batch) for key, batch in batches.items()},
        MahalanobisFull.name: {k: s.distance_q16.min(axis=-1) / ONE_Q16 for k, s in scores.items()},
    }
    predicted = {key: scored.predicted for key, scored in scores.items()}
    errors = dict(report.errors)
    ood = {name: dict(by_score) for name, by_score in report.ood.items()}
    for name, values in others.items():
        errors[name], foreign = plain_detection(values, predicted, evaluation)
        for condition, detection in foreign.items():
            ood[condition][name] = detection
    return DetectionReport(errors, ood)


def _labels(evaluation: Evaluation, key: Key) -> np.ndarray:
    labels = evaluation.labels(key)
    return np.full(len(evaluation.rows(key)), FOREIGN) if labels is None else labels
