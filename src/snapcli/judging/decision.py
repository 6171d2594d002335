"""From integer scores of dev data to the decision that the device carries."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from snapcli import fixedpoint as fx
from snapcli.config import NO_THIRD, CalibrateOptions
from snapcli.data.evaluation import Evaluation, Key
from snapcli.errors import UsageError
from snapcli.judging.conditions import conditions, dev_conditions, foreign_conditions, seen
from snapcli.monitor.body import Body, RawScores
from snapcli.monitor.decision import ONE_Q16, Decision, on_device, quantize_map
from snapcli.monitor.monitor import Monitor
from snapcli.results.calibrate import ControllerReport, Figures
from snapcli.score.calibration import (
    Conditions,
    MapChoice,
    choose_map,
    choose_threshold,
    evaluate,
    fit_map,
)
from snapcli.score.confidence import fit_temperature
from snapcli.score.maps import map_to_dict, reads_surprise, reads_third, temperature
from snapcli.score.weights import tap_weights

_CLEAN = Key("dev", "clean")
# The map and the threshold rules that know nothing of right and wrong.
_UNLABELLED_MAP, _UNLABELLED_RULES = "percentile", ("coverage", "budget")


def fit_decision(
    body: Body, raw: Mapping[Key, RawScores], evaluation: Evaluation, options: CalibrateOptions
) -> tuple[Decision, Figures]:
    clean = raw[_CLEAN]
    labelled = evaluation.dataset.labelled
    if not labelled:
        _check_unlabelled(evaluation, options)
    tensor = body.graph.tensors[body.logits_tensor]
    fit = seen(evaluation, options, _CLEAN)
    logits = clean.logits[fit] * np.float64(tensor.scale)
    surprisal = clean.surprisal_q16[fit] / ONE_Q16
    weights = fx.quantize_weights_q16(tap_weights(surprisal, options.weights))
    # The features do not depend on map and threshold, which are fitted to them next.
    draft = Decision(
        weight_q16=tuple(int(w) for w in weights),
        temperature=fit_temperature(logits, evaluation.dataset.dev.y[fit]) if labelled else 1.0,
        alpha_q16=round(options.alpha * ONE_Q16),
        map=quantize_map(temperature()),
        threshold_q16=ONE_Q16,
        third=options.third,
    )
    features = {key: Monitor(body, draft).features(r) for key, r in raw.items()}
    real = {key: r.logits * np.float64(tensor.scale) for key, r in raw.items()}
    on_dev, held_out = dev_conditions(features, real, evaluation, options)
    on_test = conditions(features, real, evaluation, "test")
    foreign = foreign_conditions(features, real, evaluation)
    choice = _choose(options, on_dev, labelled)
    scorer = on_device(choice.map)
    chosen = choose_threshold(options.threshold, options.share, scorer, on_dev, held_out)
    threshold_q16 = round(chosen.threshold * ONE_Q16)
    given = (options.budget, options.eta, options.kappa)
    decision = replace(
        draft,
        map=quantize_map(choice.map),
        threshold_q16=threshold_q16,
        third=options.third if reads_third(choice.map) else NO_THIRD,
        controller=fx.budget_of(*given, threshold_q16) if options.controller else None,
    )
    monitor = Monitor(body, decision)
    device = monitor.decide(raw[Key("test", "clean")])
    controlled = float(np.mean(monitor.replay(device).abstain))
    return decision, Figures(
        temperature=decision.temperature,
        tap_weights={
            tap.after: w / ONE_Q16 for tap, w in zip(body.taps, decision.weight_q16, strict=True)
        },
        map=map_to_dict(choice.map),
        map_reason=choice.reason,
        reads_surprise=reads_surprise(choice.map),
        threshold=chosen.threshold,
        promise=chosen.promise,
        coverage_clean_test=float(np.mean(~device.abstain)),
        controller=ControllerReport(*given, controlled) if options.controller else None,
        accuracy_by_severity=on_test.accuracy_by_severity(),
        dev=choice.dev,
        detection=evaluate(choice.map, on_dev, on_test, foreign, on_device, options.balanced),
    )


def _check_unlabelled(evaluation: Evaluation, options: CalibrateOptions) -> None:
    """Without labels nobody knows what is wrong; with corruptions an answer that changes by them
    counts as wrong, but promises nothing of real errors."""
    allowed: tuple[str, ...] = _UNLABELLED_RULES
    if evaluation.dataset.corruptions:
        allowed += ("f1", "youden")
    elif options.map not in ("auto", _UNLABELLED_MAP):
        raise UsageError(
            f"the map {options.map} is fitted to errors, and the data have no labels",
            "Attach with --labels or --augment-dev, or leave --map out.",
        )
    if options.threshold not in allowed:
        raise UsageError(
            f"the threshold {options.threshold} is set by errors, and the data have no labels",
            f"Take one of {', '.join(allowed)}, or attach with --labels.",
        )


def _choose(options: CalibrateOptions, dev: Conditions, labelled: bool) -> MapChoice:
    if not labelled and not dev.corrupted:
        reason = "No labels: U says how rare S is, not how likely an error is."
        return MapChoice(fit_map(_UNLABELLED_MAP, dev, []), {}, reason)
    return choose_map(options.map, dev, on_device, options.balanced)
