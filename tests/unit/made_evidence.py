"""A small evaluation of a made-up network: what it shows is drawn at random, and gets worse with
severity. Logits are those of its last layer."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from snapcli.data.evaluation import Key
from snapcli.data.streams import FOREIGN, Segment
from snapcli.judging.evidence import Evidence, StreamEvidence
from snapcli.methods import method
from snapcli.methods.method import FEATURES, LOGITS, SURPRISAL, UNCERTAINTY, Batch, Dev
from snapcli.methods.shaped_features import LastLayer

CLASSES, CHANNELS = 4, 8
TAPS = ("early", "late")
TYPES, SEVERITIES = ("fog", "noise", "blur"), (1, 4)
FOREIGN_SETS = ("letters", "photos")
# What severity 1 and 4 do to the network, and what is foreign.
_SHIFT = {0: 0.0, 1: 0.8, 4: 2.2}
_STRANGE = 3.0
CLEAN_COUNT, CELL_COUNT = 150, 60


def made_batch(y: NDArray[np.int64], shift: float, seed: int) -> Batch:
    """shift: 0 for clean data, the larger the worse the network sees."""
    rng = np.random.default_rng(seed)
    n = len(y)
    true = np.where(y < 0, rng.integers(0, CLASSES, n), y)
    hidden = rng.uniform(0, 1, (n, CHANNELS)) * (1 + 0.3 * shift)
    hidden[np.arange(n), true] += np.maximum(2.2 - 0.8 * shift, 0) * rng.uniform(0.3, 1, n)
    logits = last_layer().logits(hidden)
    early = 0.5 * hidden[:, :3] + rng.normal(0, 1 + 0.4 * shift, (n, 3))
    late = hidden[:, :5] + rng.normal(0, 0.2 + 0.1 * shift, (n, 5))
    surprisal = rng.gamma(8.0, (1 + np.array([0.5, 1.0]) * shift) / 8.0, (n, 2))
    uncertainty = 1 / (1 + np.exp(logits.max(axis=-1) - surprisal.mean(axis=1)))
    outputs = {
        LOGITS: logits,
        FEATURES: hidden,
        SURPRISAL: surprisal,
        UNCERTAINTY: uncertainty,
        method.FOREIGN: 1 - 1 / (1 + surprisal.mean(axis=1)),
        TAPS[0]: early,
        TAPS[1]: late,
    }
    return Batch(outputs, y)


@cache
def last_layer() -> LastLayer:
    """Feature k speaks for class k, the others for none."""
    rng = np.random.default_rng(11)
    weights = rng.normal(0, 0.3, (CHANNELS, CLASSES))
    weights[:CLASSES] += 3 * np.eye(CLASSES)
    return LastLayer(weights, rng.normal(0, 0.2, CLASSES))


def labels(count: int, seed: int) -> NDArray[np.int64]:
    return np.random.default_rng(seed).integers(0, CLASSES, count)


@cache
def made_evidence() -> Evidence:
    conditions: dict[Key, Batch] = {}
    rows: dict[Key, NDArray[np.intp]] = {}
    for i, split in enumerate(("dev", "test")):
        y = labels(CLEAN_COUNT, i)
        conditions[Key(split, "clean")] = made_batch(y, 0.0, 10 + i)
        rows[Key(split, "clean")] = np.arange(CLEAN_COUNT)
        some = np.sort(np.random.default_rng(i).permutation(CLEAN_COUNT)[:CELL_COUNT])
        for t, name in enumerate(TYPES):
            for severity in SEVERITIES:
                key = Key(split, name, severity)
                conditions[key] = made_batch(y[some], _SHIFT[severity], 100 * i + 10 * t + severity)
                rows[key] = some
    for i, name in enumerate(FOREIGN_SETS):
        key = Key("ood", name)
        conditions[key] = made_batch(np.full(80, FOREIGN), _STRANGE + i, 300 + i)
        rows[key] = np.arange(80)
    train = made_batch(labels(400, 2), 0.0, 400)
    return Evidence(train, conditions, rows, (played("dev", 500),), (played("test", 600),))


def made_dev() -> Dev:
    return made_evidence().dev


def played(split: str, seed: int) -> StreamEvidence:
    """Clean, two corruptions with foreign frames between them, clean again: two drops."""
    plan = (
        ("clean", "clean", 0, 300),
        ("corrupted", "fog", 4, 200),
        ("foreign", "letters", 0, 100),
        ("clean", "clean", 0, 300),
        ("corrupted", "noise", 4, 200),
    )
    segments, parts, first = [], [], 0
    for i, (kind, condition, severity, count) in enumerate(plan):
        foreign = kind == "foreign"
        y = np.full(count, FOREIGN) if foreign else labels(count, seed + i)
        parts.append(made_batch(y, _STRANGE if foreign else _SHIFT[severity], seed + 50 + i))
        segments.append(Segment(kind, condition, severity, np.arange(count), first))
        first += count
    normal = made_batch(labels(2000, seed + 9), 0.0, seed + 99)
    return StreamEvidence(tuple(segments), tuple(parts), normal)
