"""What a map reads."""

from dataclasses import dataclass, replace

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
    [0, classes). third [n]: an energy or the logarithm of a distance, which grows as inputs become
    foreign; None unless the user asked for one. distances [n, 2]: squared, to the centre of the
    answered class and to the nearest other; None where nobody measures them.
    """

    score: Array
    error_logit: Array
    doubt: Array
    surprisal: Array
    answer: NDArray[np.int64]
    classes: int
    third: Array | None = None
    distances: Array | None = None

    def log_score(self) -> Array:
        return log_of(self.score)

    def log_surprisal(self) -> Array:
        return log_of(self.surprisal)

    def log_own(self) -> Array:
        assert self.distances is not None
        return log_of(self.distances[:, 0])

    def log_next(self) -> Array:
        assert self.distances is not None
        return log_of(self.distances[:, 1])

    def without_taps(self) -> "Features":
        """As a monitor without heads has them: no surprise, and S is 0."""
        nothing = np.zeros((len(self.score), 0))
        return replace(self, score=np.zeros_like(self.score), surprisal=nothing)

    def where(self, chosen: Bools) -> "Features":
        return Features(
            self.score[chosen],
            self.error_logit[chosen],
            self.doubt[chosen],
            self.surprisal[chosen],
            self.answer[chosen],
            self.classes,
            None if self.third is None else self.third[chosen],
            None if self.distances is None else self.distances[chosen],
        )

    @staticmethod
    def concatenate(parts: "list[Features]") -> "Features":
        def optional(values: list[Array | None]) -> Array | None:
            known = [v for v in values if v is not None]
            return np.concatenate(known) if known else None

        return Features(
            np.concatenate([p.score for p in parts]),
            np.concatenate([p.error_logit for p in parts]),
            np.concatenate([p.doubt for p in parts]),
            np.concatenate([p.surprisal for p in parts]),
            np.concatenate([p.answer for p in parts]),
            parts[0].classes,
            optional([p.third for p in parts]),
            optional([p.distances for p in parts]),
        )
