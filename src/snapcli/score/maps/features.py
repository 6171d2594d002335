"""What a map reads."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.array import Array, Bools

# The device's smallest number above zero: what a score of nothing counts as in a logarithm.
_LEAST = 2.0**-16


def log_of(score: Array) -> Array:
    """ln of a score, finite also for zero."""
    return np.log(np.maximum(score, _LEAST))


@dataclass(frozen=True)
class Features:
    """score: S; error_logit: ln((1 - max p) / max p); doubt: m; each [n].

    surprisal [n, taps]: what S is the weighted sum of. answer [n]: the predicted class, in
    [0, classes). third [n]: an energy or the logarithm of a
    distance, which grows as inputs become foreign; None unless the user asked for one.
    """

    score: Array
    error_logit: Array
    doubt: Array
    surprisal: Array
    answer: NDArray[np.int64]
    classes: int
    third: Array | None = None

    def log_score(self) -> Array:
        return log_of(self.score)

    def log_surprisal(self) -> Array:
        return log_of(self.surprisal)

    def where(self, chosen: Bools) -> "Features":
        return Features(
            self.score[chosen],
            self.error_logit[chosen],
            self.doubt[chosen],
            self.surprisal[chosen],
            self.answer[chosen],
            self.classes,
            None if self.third is None else self.third[chosen],
        )

    @staticmethod
    def concatenate(parts: "list[Features]") -> "Features":
        third = [p.third for p in parts if p.third is not None]
        return Features(
            np.concatenate([p.score for p in parts]),
            np.concatenate([p.error_logit for p in parts]),
            np.concatenate([p.doubt for p in parts]),
            np.concatenate([p.surprisal for p in parts]),
            np.concatenate([p.answer for p in parts]),
            parts[0].classes,
            np.concatenate(third) if third else None,
        )
