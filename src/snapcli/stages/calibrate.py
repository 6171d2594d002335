"""calibrate: dev scores of the float model -> temperature, tap weights, map and threshold."""

from dataclasses import asdict

import numpy as np

from snapcli.array import Array
from snapcli.config import ENERGY, MAHALANOBIS, NO_TAPS, CalibrateOptions
from snapcli.data import load_dataset
from snapcli.data.evaluation import Evaluation, Key
from snapcli.heads.head import surprisals, tapped_blocks
from snapcli.judging.calibrate_attached import calibrate_attached
from snapcli.judging.conditions import conditions, dev_conditions, foreign_conditions, seen
from snapcli.judging.evidence import class_examples
from snapcli.judging.fitting import Given, fit_all
from snapcli.models.activations import pooled_activations
from snapcli.models.tensorflow import require_tensorflow
from snapcli.origin.network import trained
from snapcli.origin.origin import origin_of
from snapcli.origin.recipe import run_recipe
from snapcli.progress import OnProgress, silent
from snapcli.results.calibrate import CalibrateReport, ControllerReport
from snapcli.runs import Run, write_json
from snapcli.score.calibration import in_float
from snapcli.score.confidence import doubt, energy, error_logit, fit_temperature
from snapcli.score.controller import Controller
from snapcli.score.mahalanobis import fit_mahalanobis
from snapcli.score.maps import Features, log_of, map_to_dict
from snapcli.score.weights import tap_weights


def calibrate(
    run: Run, options: CalibrateOptions, on_progress: OnProgress = silent
) -> CalibrateReport:
    if not origin_of(run).has_float:
        return calibrate_attached(run, options, on_progress)
    run.inputs("train")
    recipe = run_recipe(run)
    require_tensorflow()
    evaluation = Evaluation(load_dataset(recipe.train, on_progress), options.limit)
    parts = trained(run, evaluation.dataset)
    model, heads = parts.model, parts.heads
    logits_of: dict[Key, np.ndarray] = {}
    surprisal_of: dict[Key, np.ndarray] = {}
    third_of: dict[Key, np.ndarray] = {}
    distances_of: dict[Key, np.ndarray] = {}
    classes, last = evaluation.dataset.class_names, heads[-1].after
    examples = class_examples(evaluation.dataset)
    x = evaluation.dataset.front_end(examples.x)
    pooled = pooled_activations(model, x, [last], recipe.train.statistics)[last]
    measure = fit_mahalanobis(pooled.astype(np.float64), examples.y, len(classes))
    taps = heads if options.taps != NO_TAPS else []
    done, total = 0, evaluation.examples
    for key, x in evaluation.each():
        activations = pooled_activations(model, x, tapped_blocks(heads), recipe.train.statistics)
        logits_of[key] = activations["logits"].astype(np.float64)
        surprisal_of[key] = surprisals(heads, activations)[:, : len(taps)]
        answers = logits_of[key].argmax(axis=-1)
        distances_of[key] = measure.to_answer_and_next(activations[last], answers)
        if options.third == MAHALANOBIS:
            third_of[key] = log_of(distances_of[key].min(axis=-1))
        done += len(x)
        on_progress(done, total, f"examples scored, {key.condition}")

    dev = Key("dev", "clean")
    fit = seen(evaluation, options, dev)
    temperature = fit_temperature(logits_of[dev][fit], evaluation.dataset.dev.y[fit])
    weights = tap_weights(surprisal_of[dev][fit], options.weights) if taps else np.zeros(0)
    if options.third == ENERGY:
        third_of = {key: energy(logits, temperature) for key, logits in logits_of.items()}
    features = {
        key: Features(
            surprisal_of[key] @ weights,
            error_logit(logits_of[key], temperature),
            doubt(logits_of[key], temperature, options.alpha),
            surprisal_of[key],
            logits_of[key].argmax(axis=-1),
            logits_of[key].shape[1],
            third_of.get(key),
            distances_of[key],
        )
        for key in logits_of
    }
    on_dev, held_out = dev_conditions(features, logits_of, evaluation, options)
    on_test = conditions(features, logits_of, evaluation, "test")
    foreign = foreign_conditions(features, logits_of, evaluation)
    given = Given(on_dev, held_out, on_test, foreign, classes, labelled=True)
    fitted = fit_all(given, options, in_float, lambda fitted_map: fitted_map)
    choice, threshold = fitted.choice, fitted.threshold.threshold
    clean_test = choice.map(on_test.clean.features)
    report = CalibrateReport(
        run=run.name,
        temperature=temperature,
        tap_weights={h.after: float(w) for h, w in zip(taps, weights, strict=True)},
        map=map_to_dict(choice.map),
        map_reason=choice.reason,
        heads=fitted.heads,
        threshold_rule=options.threshold,
        threshold=threshold,
        promise=fitted.threshold.promise,
        coverage_clean_test=float(np.mean(clean_test < threshold)),
        foreign=fitted.foreign_report,
        answers=fitted.answers,
        controller=_controlled(options, clean_test, threshold),
        test_accuracy=on_test.accuracy(),
        accuracy_by_severity=on_test.accuracy_by_severity(),
        dev=choice.dev,
        detection=fitted.detection,
    )
    with run.write("calibrate", after=("train",)) as out:
        write_json(out / "calibration.json", {"options": asdict(options), "report": asdict(report)})
        arrays = {f"{key}/surprisal": surprisal_of[key].astype(np.float32) for key in logits_of}
        arrays |= {f"{key}/logits": logits_of[key].astype(np.float32) for key in logits_of}
        np.savez_compressed(out / "scores.npz", **arrays)  # type: ignore[arg-type]
    return report


def _controlled(
    options: CalibrateOptions, uncertainty: Array, threshold: float
) -> ControllerReport | None:
    if not options.controller:
        return None
    controller = Controller(options.budget, options.eta, options.kappa)
    abstain, _ = controller.run(uncertainty, threshold)
    return ControllerReport(options.budget, options.eta, options.kappa, float(abstain.mean()))
