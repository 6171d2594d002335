"""An eval of made-up scores: every field of the report is filled, and figures fit each other."""

from collections.abc import Sequence

import numpy as np

from snapcli.methods.method import Tuning
from snapcli.metrics.bootstrap import Interval
from snapcli.results.eval import (
    SCHEMA,
    Cluster,
    DetectionFigures,
    Errors,
    EvalReport,
    EventFigures,
    MethodFigures,
    ProbabilityFigures,
    Reliability,
    Selective,
    SourceFigures,
    StreamSegment,
    StreamView,
)

TYPES = ("blur", "gaussian_noise", "occlusion", "contrast", "rotation", "shot_noise")
OOD = ("photos", "letters")
# How well each tells errors from right answers, in deviations.
METHODS = {
    "max-probability": 1.5,
    "entropy": 1.48,
    "temperature": 1.52,
    "energy": 1.35,
    "odin-lite": 1.45,
    "mahalanobis-full": 1.75,
    "react": 1.3,
    "ash": 1.25,
    "snap": 1.9,
    "snap-gated": 1.85,
    "snap-student-t": 1.8,
    "hybrid": 1.95,
    "mc-dropout": 1.6,
}
NOT_RUN = {"qute": "not asked for", "deep-ensemble": "trained variants are judged in float"}
FRAMES = 7400


def example(sources: Sequence[str] = ("float", "int8", "device"), seed: int = 0) -> EvalReport:
    rng = np.random.default_rng(seed)
    return EvalReport(
        schema=SCHEMA,
        run="digits-001",
        dataset="digits",
        model="dscnn-digits",
        seed=13,
        limit=1000,
        replicates=1000,
        streams=1,
        sources={name: _source(name, rng) for name in sources},
    )


def stream_view() -> StreamView:
    plan = [("clean", "clean", 0, 2000)]
    for severity in range(1, 6):
        plan += [("corrupted", TYPES[(severity + i) % 6], severity, 200) for i in range(5)]
        if severity < 5:
            plan.append(("foreign", OOD[severity % 2], 0, 100))
    segments, first = [], 0
    for kind, condition, severity, frames in plan:
        segments.append(StreamSegment(kind, condition, severity, first, frames))
        first += frames
    assert first == FRAMES
    events = ((3040, 3180), (4150, 4520), (4700, 4990), (5210, 6330), (6420, 7400))
    return StreamView(FRAMES, 0.952, events, tuple(segments))


def _source(name: str, rng: np.random.Generator) -> SourceFigures:
    taps = ("block1", "block2", "block4")
    mixed = rng.normal(size=(3, 400)) + 0.8 * rng.normal(size=400)
    correlation = np.corrcoef([*mixed, mixed.sum(axis=0)])
    methods = [_method(m, strength + rng.normal(0, 0.02), rng) for m, strength in METHODS.items()]
    methods += [MethodFigures(m, "trained", "not run", why) for m, why in NOT_RUN.items()]
    return SourceFigures(
        source=name,
        examples={"clean": 540, "corrupted": 16200, "photos": 1000, "letters": 1000},
        accuracy={"clean": 0.996, **{str(s): 1.05 - 0.13 * s for s in range(1, 6)}},
        taps=taps,
        tap_correlation=tuple(map(tuple, correlation.tolist())),
        stream=stream_view(),
        methods=tuple(methods),
    )


def _around(value: float, width: float, rng: np.random.Generator) -> Interval:
    left, right = width * rng.uniform(0.7, 1.3, 2)
    return Interval(float(value), float(value - left), float(value + right))


def _found(strength: float, width: float, rng: np.random.Generator) -> DetectionFigures:
    auroc = 1 / (1 + np.exp(-1.15 * strength))
    return DetectionFigures(
        _around(auroc, width, rng),
        _around(0.85 * auroc, 1.4 * width, rng),
        _around(1.4 * (1 - auroc), 2 * width, rng),
    )


def _method(name: str, strength: float, rng: np.random.Generator) -> MethodFigures:
    answered = np.linspace(0.02, 1.0, 200)
    risk = 0.3 * answered ** (1 + strength)
    is_probability = name.startswith(("snap", "max", "temperature", "mc"))
    calibrated = {
        part: ProbabilityFigures(
            _around(n, 0.02, rng), _around(b, 0.01, rng), _around(e, 0.006, rng)
        )
        for part, n, b, e in (("clean", 0.02, 0.005, 0.004), ("corrupted", 0.9, 0.35, 0.14))
    }
    gain = strength - METHODS["max-probability"]
    return MethodFigures(
        name=name,
        kind="trained" if name == "mc-dropout" else "single-pass",
        status="done",
        source="Hendrycks and Gimpel 2017" if name == "max-probability" else "",
        tuning=Tuning({"T": [0.5, 1.0, 2.0]}, {"T": 1.0}, "AUROC of errors", 0.871)
        if name in ("energy", "odin-lite")
        else None,
        accuracy=0.9963,
        errors=Errors(
            _found(strength, 0.008, rng),
            _found(0.7 * strength, 0.015, rng),
            _found(2 * strength, 0.05, rng),
            28,
        ),
        ood={o: _found(strength + i / 2, 0.01, rng) for i, o in enumerate(OOD)},
        by_severity={str(s): _found(strength - 0.12 * s, 0.02, rng) for s in range(1, 6)},
        by_type={t: _found(strength - 0.1 * i, 0.03, rng) for i, t in enumerate(TYPES)},
        events=EventFigures(
            5,
            _around(0.6 + 0.1 * strength, 0.04, rng),
            _around(0.5 + 0.1 * strength, 0.05, rng),
            0.42,
            Interval(24.0, float("nan"), float("nan")),
            0.2,
            0.021,
        ),
        selective={
            part: Selective(
                *(_around(f * np.exp(-strength), 0.004, rng) for f in (0.3, 0.5, 0.7, 0.4, 0.9))
            )
            for part in ("clean", "all")
        },
        posterior=calibrated,
        uncertainty=calibrated if is_probability else None,
        gains={} if name == "max-probability" else _gains(gain, rng),
        snap_gains={} if name == "snap" else _gains(METHODS["snap"] - strength, rng),
        clusters=tuple(
            Cluster(t, 300 - 40 * i, float(min(0.4 * strength + 0.02 * i, 1.0)))
            for i, t in enumerate(TYPES[:5])
        ),
        risk_coverage=tuple(zip(answered.tolist(), risk.tolist(), strict=True)),
        reliability=_reliability(strength, is_probability),
        stream=_stream(strength, rng),
    )


def _gains(gain: float, rng: np.random.Generator) -> dict[str, Interval]:
    scale = {
        "errors.pooled.auroc": 0.12,
        "errors.pooled.aupr": 0.2,
        "errors.per_cell.auroc": 0.01,
        "errors.clean.auroc": -0.03,
        "ood.photos.auroc": 0.4,
        "ood.letters.auroc": 0.2,
        "severity.1.auroc": 0.1,
        "type.blur.auroc": 0.1,
        "selective.clean.risk_90": 0.0,
        "selective.all.risk_90": 0.05,
        "selective.all.aurc": 0.04,
        "uncertainty.clean.ece": -0.02,
        "uncertainty.corrupted.ece": 0.3,
        "events.auprc": 0.15,
        "events.weighted_auprc": 0.08,
    }
    return {key: _around(gain * s, 0.006, rng) for key, s in scale.items()}


def _reliability(strength: float, is_probability: bool) -> dict[str, tuple[Reliability, ...]]:
    def bins(low: float, high: float, bend: float) -> tuple[Reliability, ...]:
        stated = np.linspace(low, high, 15)
        return tuple(Reliability(float(s), float(s**bend), 1 / 15) for s in stated)

    bend = 1 + abs(2.0 - strength)
    found = {"posterior.clean": bins(0.9, 0.999, bend), "posterior.corrupted": bins(0.3, 1.0, bend)}
    if is_probability:
        found |= {"uncertainty.clean": bins(0.0, 0.08, bend)}
        found |= {"uncertainty.corrupted": bins(0.0, 0.95, bend)}
    return found


def _stream(strength: float, rng: np.random.Generator) -> tuple[float, ...]:
    """The largest of every 8 frames: 925 groups."""
    score = rng.beta(1.2, 9, FRAMES)
    for onset, offset in stream_view().events[:4]:
        score[onset + 30 : offset] += 0.18 * strength * rng.random(offset - onset - 30)
    return tuple(np.minimum(score, 1.0).reshape(-1, 8).max(axis=1).tolist())
