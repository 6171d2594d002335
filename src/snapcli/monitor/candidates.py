"""Every tap that a finished model could get, scored in one pass over its inputs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli import fixedpoint as fx
from snapcli.graph.graph import Graph
from snapcli.monitor.body import Body, ClassDistance, RawScores, TapTensors
from snapcli.monitor.pooled import pooled


@dataclass(frozen=True, eq=False)
class Candidates:
    """taps, heads and distances to the classes: one of each for every candidate, by depth."""

    graph: Graph
    taps: tuple[TapTensors, ...]
    heads: tuple[fx.DeviceHead, ...]
    distances: tuple[fx.MahalanobisS8, ...]
    statistics: str

    def body(self, chosen: Sequence[int]) -> Body:
        """The monitor's body with some of them; its distance is measured at the last of these, or
        of all if there are none."""
        last = chosen[-1] if chosen else -1
        measure = ClassDistance(self.taps[last].after, self.distances[last]) if self.taps else None
        return Body(
            self.graph,
            tuple(self.taps[i] for i in chosen),
            tuple(self.heads[i] for i in chosen),
            self.statistics,
            measure,
        )

    def score(self, x: NDArray[np.int8]) -> "CandidateScores":
        every = self.body(range(len(self.taps)))
        seen = pooled(self.graph, every.tapped, self.statistics, x)
        answer = fx.argmax_s8(seen.logits)
        distance = [
            fx.mahalanobis_s8(d, seen.sums[tap.after], answer)
            for d, tap in zip(self.distances, self.taps, strict=True)
        ]
        return CandidateScores(every.surprisals_q16(seen), seen.logits, np.stack(distance, axis=1))


@dataclass(frozen=True, eq=False)
class CandidateScores:
    """surprisal_q16 uint32 [n, candidates]; logits int8 [n, classes]; distance_q16 uint32
    [n, candidates, 2]."""

    surprisal_q16: NDArray[np.uint32]
    logits: NDArray[np.int8]
    distance_q16: NDArray[np.uint32]

    def of_body(self, chosen: Sequence[int]) -> RawScores:
        """What Candidates.body(chosen) computes."""
        last = chosen[-1] if chosen else -1
        return RawScores(
            self.surprisal_q16[:, list(chosen)], self.logits, self.distance_q16[:, last]
        )

    @staticmethod
    def concatenate(parts: "list[CandidateScores]") -> "CandidateScores":
        return CandidateScores(
            np.concatenate([p.surprisal_q16 for p in parts]),
            np.concatenate([p.logits for p in parts]),
            np.concatenate([p.distance_q16 for p in parts]),
        )
