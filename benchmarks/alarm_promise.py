"""False alarms over a million simulated clean frames, beside what each detector promises.

    python benchmarks/alarm_promise.py [--false-alarms-every 10000] [--seed 0]

A hundred devices take a baseline of 512 frames each and then see 10,000 clean ones. U of a frame is
sigmoid(normal); the alarm is fitted to 1,000 clean examples and to harmful and harmless ones. In
scenes a frame repeats the last one with a probability of 3/4. The block is measured on a stream of
20,000 scene frames. "like dev": the field is as dev data are; "other": its U is higher throughout.
"""

import argparse

import numpy as np
from numpy.typing import NDArray

from snapcli import fixedpoint as fx
from snapcli.config import DETECTORS
from snapcli.score.alarm import (
    BETTING,
    ONE_Q16,
    FittedAlarm,
    ShiftScores,
    block_of,
    fit_alarm,
    silence_of,
)

DEVICES, FRAMES, BASELINE, EXAMPLES, SCENE = 100, 10_000, 512, 1_000, 4
DRAWS, FEW = 40, 300
CLEAN, HARMLESS, HARMFUL, OTHER = -4.0, -3.7, -1.5, -3.6


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--false-alarms-every", type=float, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    every, seed = asked.false_alarms_every, asked.seed
    rng = np.random.default_rng(seed)
    scores = _scores(rng, EXAMPLES)
    block = block_of(_scenes(rng, CLEAN, (1, 20_000))[0], scores.clean)
    total = DEVICES * FRAMES
    print(
        f"asked: one in {every:,.0f} frames; {total:,} clean frames; seed {seed}; block {block}\n"
    )
    titles = ("at least, 95 % sure", "at most, of so many", "like dev", "other")
    print(f"| detector | frames | block | {' | '.join(titles)} | delay |\n|{'---|' * 8}")
    for detector in DETECTORS:
        for kind, scene, factor in (
            ("independent", False, 1),
            ("scenes", True, 1),
            ("scenes", True, block),
        ):
            fitted = fit_alarm(detector, scores, every, factor, BASELINE)
            counts = [_alarms(fitted, rng, mean, scene) for mean in (CLEAN, OTHER)]
            print(
                f"| {detector} | {kind} | {factor} | {fitted.at_least:,.0f} | "
                f"{total / fitted.at_least:,.0f} | {counts[0]:,} | {counts[1]:,} | "
                f"{_delay(fitted, rng, scene)} |"
            )
    _examples(rng, every)
    _coverage(rng, every)


def _examples(rng: np.random.Generator, every: float) -> None:
    print("\nFrames between false alarms that so many clean dev examples make sure of\n")
    kinds = [(d, baseline) for baseline in (0, BASELINE) for d in DETECTORS if d != BETTING]
    titles = [f"{d}, baseline {baseline}" for d, baseline in kinds]
    print(f"| examples | {' | '.join(titles)} |\n|{'---|' * (1 + len(titles))}")
    for examples in (100, 300, 1_000, 3_000, 10_000):
        scores = _scores(rng, examples)
        found = [fit_alarm(d, scores, every, 1, baseline).at_least for d, baseline in kinds]
        print(f"| {examples:,} | {' | '.join(f'{frames:,.0f}' for frames in found)} |")


def _coverage(rng: np.random.Generator, every: float) -> None:
    """True run lengths by the shares of a million clean frames."""
    print(f'\nIn how many of {DRAWS} draws of {FEW} clean dev examples "at least" was kept\n')
    print("| baseline | detector | kept | least of true / at least |\n|---|---|---|---|")
    all_clean = _u(rng.normal(CLEAN, 1.5, 1_000_000))
    for baseline in (0, BASELINE):
        for detector in (d for d in DETECTORS if d != BETTING):
            ratio = []
            for _ in range(DRAWS):
                fitted = fit_alarm(detector, _scores(rng, FEW), every, 1, baseline)
                gains, device = fitted.gains, fitted.device
                bins = np.searchsorted(gains.edges, all_clean, side="right")
                shares = np.bincount(bins, minlength=len(gains.nats)) / len(all_clean)
                offsets = np.array([device.offset_q16 / ONE_Q16])
                if baseline:
                    offsets = gains.offsets(shares, baseline, 1, 0.0)
                true = silence_of(detector, gains.nats, shares, offsets, 1)
                ratio.append(true(device.threshold_q16 / ONE_Q16) / fitted.at_least)
            kept = int(np.sum(np.array(ratio) >= 1))
            print(f"| {baseline} | {detector} | {kept} | {min(ratio):.2f} |", flush=True)


def _scores(rng: np.random.Generator, examples: int) -> ShiftScores:
    return ShiftScores(
        _u(rng.normal(CLEAN, 1.5, examples)),
        [_u(rng.normal(HARMFUL, 2, 1_000))],
        [_u(rng.normal(HARMLESS, 1.5, 1_000))],
    )


def _alarms(fitted: FittedAlarm, rng: np.random.Generator, mean: float, scene: bool) -> int:
    shape = (DEVICES, BASELINE + FRAMES)
    values = _scenes(rng, mean, shape) if scene else _u(rng.normal(mean, 1.5, shape))
    state = fx.alarm_start(fitted.device, DEVICES)
    fx.alarm_run(fitted.device, state, values, np.zeros_like(values))
    return int(state.alarms.sum())


def _delay(fitted: FittedAlarm, rng: np.random.Generator, scene: bool) -> str:
    """Median frames of harmful data until the alarm is on."""
    before = (DEVICES, BASELINE + 128)
    clean = _scenes(rng, CLEAN, before) if scene else _u(rng.normal(CLEAN, 1.5, before))
    shape = (DEVICES, 400)
    shown = _scenes(rng, HARMFUL, shape, 2) if scene else _u(rng.normal(HARMFUL, 2, shape))
    values = np.concatenate([clean, shown], axis=1)
    state = fx.alarm_start(fitted.device, DEVICES)
    on, _ = fx.alarm_run(fitted.device, state, values, np.zeros_like(values))
    seen = on[:, before[1] :]
    return f"{np.median(np.where(seen.any(axis=1), seen.argmax(axis=1) + 1, 400)):.0f}"


def _scenes(
    rng: np.random.Generator, mean: float, shape: tuple[int, int], deviation: float = 1.5
) -> NDArray[np.uint32]:
    fresh = rng.random(shape) < 1 / SCENE
    fresh[:, 0] = True
    last = np.maximum.accumulate(np.where(fresh, np.arange(shape[1]), 0), axis=1)
    return np.take_along_axis(_u(rng.normal(mean, deviation, shape)), last, axis=1)


def _u(logit: NDArray[np.float64]) -> NDArray[np.uint32]:
    return np.rint(65536 / (1 + np.exp(-logit))).astype(np.uint32)


if __name__ == "__main__":
    main()
