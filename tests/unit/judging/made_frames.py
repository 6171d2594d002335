"""Scored examples of a made-up model: U says how often it is wrong, and so it is."""

import numpy as np

from snapcli.judging.shifts import Frames, Shift, SplitFrames
from snapcli.monitor.monitor import DeviceScores


def made_frames(accuracy: float, count: int = 300, seed: int = 0) -> Frames:
    rng = np.random.default_rng([seed, round(1000 * accuracy)])
    logit = rng.normal(np.log((1 - accuracy) / accuracy), 1.5, count)
    u = 1 / (1 + np.exp(-logit))
    wrong = np.zeros(count, bool)
    wrong[rng.choice(count, round((1 - accuracy) * count), False, u / u.sum())] = True
    u_q16 = np.rint(65536 * u).astype(np.uint32)
    scores = DeviceScores(
        predicted=np.zeros(count, np.int32),
        surprisal_q16=np.zeros((count, 1), np.uint32),
        score_q16=np.arange(count, dtype=np.uint32),
        uncertainty_q16=u_q16,
        abstain=u_q16 >= 32768,
        foreign_q16=(u_q16 // 2).astype(np.uint32),
        foreign=u_q16 >= 65000,
        logits=np.zeros((count, 2), np.int8),
    )
    noise = rng.integers(0, 3_000, count)
    return Frames(scores, (u_q16 // 3 + noise).astype(np.uint32), ~wrong)


def made_split(
    clean: float = 0.97, drops: tuple[float, ...] = (0.01, 0.05, 0.15, 0.4), seed: int = 0
) -> SplitFrames:
    """Three types of as many severities as there are drops, and a foreign set."""
    shifts = tuple(
        Shift(name, severity + 1, made_frames(clean - drop, seed=seed + k), drop, False)
        for k, name in enumerate(("blur", "fog", "hiss"))
        for severity, drop in enumerate(drops)
    )
    strange = made_frames(0.1, seed=seed + 9)
    foreign = Frames(strange.scores, strange.plain_q16, np.zeros(len(strange), bool))
    return SplitFrames(
        made_frames(clean, 600, seed), shifts, (Shift("photos", 0, foreign, clean, True),)
    )
