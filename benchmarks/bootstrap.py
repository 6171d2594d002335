"""How long the bootstrap of a stream takes: 1,000 replicates, 7,400 frames, 12 methods.

    make bootstrap-speed

Each method gets frame AUPRC and event-weighted AUPRC, both with intervals, and both as a paired
difference to the first. Beside it stands a plain loop over scikit-learn on the same resamples,
timed for a few of them. Their figures must be the same.
"""

import time

import numpy as np
import typer
from sklearn.metrics import average_precision_score

from snapcli import console
from snapcli.metrics.bootstrap import draw_blocks, interval, measured
from snapcli.metrics.event_scores import event_weights, frame_auprc
from snapcli.metrics.events import Event, event_frames

FRAMES, BLOCK, METHODS, REPLICATES = 7_400, 100, 12, 1_000
LOOPED = 3  # replicates of the plain loop
SECONDS = 60.0


def stream() -> tuple[tuple[Event, ...], np.ndarray]:
    """(events, scores [methods, frames]): noise that rises in events, for each method a little
    more; every other method has the 256 values of a byte, which tie."""
    events = tuple(Event(at, at + 100 + at // 20) for at in range(400, FRAMES - 500, 700))
    rise = np.linspace(0.5, 2.0, METHODS)[:, None] * event_frames(events, FRAMES)
    scores = np.random.default_rng(0).normal(0, 1, (METHODS, FRAMES)) + rise
    scores[1::2] = np.clip(np.round(32 * scores[1::2]), -128, 127)
    return events, scores


def main() -> None:
    events, scores = stream()
    active = event_frames(events, FRAMES)
    # A plain 1 keeps the counts of a resample the small integers they are.
    kinds = (np.uint8(1), event_weights(events, FRAMES))

    start = time.perf_counter()
    weights = draw_blocks(FRAMES, BLOCK, REPLICATES, seed=0)
    found = [
        [measured(lambda rows, s=s, k=k: frame_auprc(active, s, rows * k), weights) for s in scores]
        for k in kinds
    ]
    for kind in found:
        first, drawn = kind[0]
        for point, replicates in kind:
            interval(point, replicates)
            interval(point - first, replicates - drawn)
    ours = time.perf_counter() - start

    start = time.perf_counter()
    looped = [
        [
            [average_precision_score(active, s, sample_weight=row * k) for row in weights[:LOOPED]]
            for s in scores
        ]
        for k in kinds
    ]
    loop = (time.perf_counter() - start) / LOOPED * (REPLICATES + 1)
    np.testing.assert_allclose([[r[:LOOPED] for _, r in kind] for kind in found], looped)

    verdict = f"{ours:.1f} s < {SECONDS:.0f} s: {'met' if ours < SECONDS else 'MISSED'}"
    title = f"{REPLICATES:,} replicates, {FRAMES:,} frames, {METHODS} methods"
    columns = ("all at once", "plain loop, extrapolated", "ratio")
    console.table(title, columns, [(verdict, f"{loop:.0f} s", f"{loop / ours:.0f}")])
    raise typer.Exit(0 if ours < SECONDS else 7)


if __name__ == "__main__":
    typer.run(main)
