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
from snapcli.score.alarm import FittedAlarm, ShiftScores, block_of, fit_alarm

DEVICES, FRAMES, BASELINE, EXAMPLES, SCENE = 100, 10_000, 512, 1_000, 4
CLEAN, HARMLESS, HARMFUL, OTHER = -4.0, -3.7, -1.5, -3.6


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--false-alarms-every", type=float, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    every, seed = asked.false_alarms_every, asked.seed
    rng = np.random.default_rng(seed)
    scores = ShiftScores(
        _u(rng.normal(CLEAN, 1.5, EXAMPLES)),
        [_u(rng.normal(HARMFUL, 2, EXAMPLES))],
        [_u(rng.normal(HARMLESS, 1.5, EXAMPLES))],
    )
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
