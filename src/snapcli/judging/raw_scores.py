"""scores.npz of quantize and attach: what the device's body says of every condition."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from snapcli.data.evaluation import Evaluation, Key
from snapcli.limits import DATA_MAX
from snapcli.monitor.body import Body, RawScores
from snapcli.stored import stored_arrays

SCORES_FILE = "scores.npz"
_MOST = 2**31 - 1  # of an energy or a distance
Scores = Mapping[Key, RawScores]


def save_scores(path: Path, scores: Scores) -> None:
    arrays = {
        f"{key}/{name}": values for key, scored in scores.items() for name, values in _parts(scored)
    }
    np.savez_compressed(path, **arrays)  # type: ignore[arg-type]


def _parts(scores: RawScores) -> list[tuple[str, np.ndarray]]:
    return list(vars(scores).items())


def load_scores(path: Path, body: Body, evaluation: Evaluation, hint: str) -> Scores:
    """Raises ArtifactError unless they are those of this body and these data."""
    taps = len(body.taps)
    scores = {}
    with stored_arrays(path, hint, DATA_MAX) as saved:
        for key in evaluation.keys:
            n = len(evaluation.rows(key))
            scores[key] = RawScores(
                surprisal_q16=saved.array(f"{key}/surprisal_q16", np.uint32, (n, taps), 0, _MOST),
                logits=saved.array(f"{key}/logits", np.int8, (n, body.classes)),
                distance_q16=saved.array(f"{key}/distance_q16", np.uint32, (n, 2), 0, _MOST),
            )
    return scores
