"""From integer scores of dev data to the decision that the device carries."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from snapcli import fixedpoint as fx
from snapcli.config import MAPS_WITHOUT_TAPS, NO_THIRD, CalibrateOptions
from snapcli.data import Dataset
from snapcli.data.evaluation import Evaluation, Key
from snapcli.errors import UsageError
from snapcli.judging.conditions import conditions, dev_conditions, foreign_conditions, seen
from snapcli.judging.fitting import UNLABELLED_MAP, Given, fit_all
from snapcli.monitor.body import Body, RawScores
from snapcli.monitor.decision import (
    ONE_Q16,
    Decision,
    on_device,
    quantize_gated,
    quantize_map,
    quantize_weights,
)
from snapcli.monitor.monitor import Monitor
from snapcli.results.calibrate import ControllerReport, Figures
from snapcli.score.confidence import fit_temperature
from snapcli.score.maps import map_to_dict, reads_third, temperature
from snapcli.score.weights import tap_weights

_CLEAN = Key("dev", "clean")
# The rules of a threshold that know nothing of right and wrong.
_UNLABELLED_RULES = ("coverage", "budget")


def fit_decision(
    body: Body, raw: Mapping[Key, RawScores], evaluation: Evaluation, options: CalibrateOptions
) -> tuple[Decision, Figures]:
    """Of a body with its distances; a body without taps has a decision without weights."""
    clean = raw[_CLEAN]
    labelled = evaluation.dataset.labelled
    if not body.taps:
        check_without_heads(evaluation.dataset, options)
    if not labelled:
        _check_unlabelled(evaluation, options)
    tensor = body.graph.tensors[body.logits_tensor]
    fit = seen(evaluation, options, _CLEAN)
    logits = clean.logits[fit] * np.float64(tensor.scale)
    surprisal = clean.surprisal_q16[fit] / ONE_Q16
    weights = tap_weights(surprisal, options.weights) if body.taps else np.zeros(0)
    # The features do not depend on map and threshold, which are fitted to them next.
    plain = quantize_gated(temperature())
    draft = Decision(
        weight_q16=quantize_weights(weights),
        temperature=fit_temperature(logits, evaluation.dataset.dev.y[fit]) if labelled else 1.0,
        alpha_q16=round(options.alpha * ONE_Q16),
        map=plain,
        threshold_q16=ONE_Q16,
        foreign=plain,
        foreign_threshold_q16=ONE_Q16,
        third=options.third,
    )
    features = {key: Monitor(body, draft).features(r) for key, r in raw.items()}
    real = {key: r.logits * np.float64(tensor.scale) for key, r in raw.items()}
    on_dev, held_out = dev_conditions(features, real, evaluation, options)
    on_test = conditions(features, real, evaluation, "test")
    foreign = foreign_conditions(features, real, evaluation)
    classes = evaluation.dataset.class_names
    given = Given(on_dev, held_out, on_test, foreign, classes, labelled)
    fitted = fit_all(given, options, on_device, on_device)
    choice, chosen = fitted.choice, fitted.threshold
    threshold_q16 = round(chosen.threshold * ONE_Q16)
    controller = (options.budget, options.eta, options.kappa)
    decision = replace(
        draft,
        map=quantize_map(choice.map),
        threshold_q16=threshold_q16,
        foreign=quantize_gated(fitted.foreign),
        foreign_threshold_q16=round(fitted.foreign_threshold * ONE_Q16),
        third=options.third if reads_third(choice.map) else NO_THIRD,
        controller=fx.budget_of(*controller, threshold_q16) if options.controller else None,
    )
    monitor = Monitor(body, decision)
    device = monitor.decide(raw[Key("test", "clean")])
    controlled = float(np.mean(monitor.replay(device).abstain))
    return decision, Figures(
        heads=fitted.heads,
        temperature=decision.temperature,
        tap_weights={
            tap.after: w / ONE_Q16 for tap, w in zip(body.taps, decision.weight_q16, strict=True)
        },
        map=map_to_dict(choice.map),
        map_reason=choice.reason,
        threshold=chosen.threshold,
        promise=chosen.promise,
        coverage_clean_test=float(np.mean(~device.abstain)),
        foreign=fitted.foreign_report,
        answers=fitted.answers,
        controller=ControllerReport(*controller, controlled) if options.controller else None,
        accuracy_by_severity=on_test.accuracy_by_severity(),
        dev=choice.dev,
        detection=fitted.detection,
    )


def check_without_heads(dataset: Dataset, options: CalibrateOptions) -> None:
    """Raises UsageError where a monitor without heads has nothing to make U of."""
    if options.reads_heads or options.third != NO_THIRD:
        what = (
            f"the map {options.map}" if options.reads_heads else f"the third input {options.third}"
        )
        raise UsageError(
            f"{what} is for monitors with heads, and this one has none",
            f"Take one of the maps {', '.join(MAPS_WITHOUT_TAPS)}, or auto.",
        )
    if not dataset.labelled and not dataset.corruptions:
        raise UsageError(
            "without heads and without labels nothing says how likely an error is",
            "Attach with heads (--taps auto), with --labels or with --augment-dev.",
        )


def _check_unlabelled(evaluation: Evaluation, options: CalibrateOptions) -> None:
    """Without labels nobody knows what is wrong; with corruptions an answer that changes by them
    counts as wrong, but promises nothing of real errors."""
    allowed: tuple[str, ...] = _UNLABELLED_RULES
    if evaluation.dataset.corruptions:
        allowed += ("f1", "youden")
    elif options.map not in ("auto", UNLABELLED_MAP):
        raise UsageError(
            f"the map {options.map} is fitted to errors, and the data have no labels",
            "Attach with --labels or --augment-dev, or leave --map out.",
        )
    if options.threshold not in allowed:
        raise UsageError(
            f"the threshold {options.threshold} is set by errors, and the data have no labels",
            f"Take one of {', '.join(allowed)}, or attach with --labels.",
        )
