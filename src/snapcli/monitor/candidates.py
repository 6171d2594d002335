"""Every tap that a finished model could get, scored in one pass over its inputs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli import fixedpoint as fx
from snapcli.graph.graph import Graph
from snapcli.monitor.body import Body, RawScores, TapTensors
from snapcli.monitor.pooled import pooled


@dataclass(frozen=True, eq=False)
class Candidates:
    """taps, heads and distances to the nearest class: one of each for every candidate, by depth."""

    graph: Graph
    taps: tuple[TapTensors, ...]
    heads: tuple[fx.DeviceHead, ...]
    distances: tuple[fx.MahalanobisS8, ...]
    statistics: str

    def body(self, chosen: Sequence[int]) -> Body:
        """The monitor's body with some of them; its distance is taken at the last one."""
        return Body(
            self.graph,
            tuple(self.taps[i] for i in chosen),
            tuple(self.heads[i] for i in chosen),
            self.statistics,
            self.distances[chosen[-1]],
        )

    def score(self, x: NDArray[np.int8]) -> "CandidateScores":
        every = self.body(range(len(self.taps)))
        seen = pooled(self.graph, every.tapped, self.statistics, x)
        distance = [
            fx.mahalanobis_s8(d, seen.sums[tap.after])
            for d, tap in zip(self.distances, self.taps, strict=True)
        ]
        return CandidateScores(every.surprisals_q16(seen), seen.logits, np.stack(distance, axis=-1))


@dataclass(frozen=True, eq=False)
class CandidateScores:
    """surprisal_q16 and distance_q16 uint32 [n, candidates]; logits int8 [n, classes]."""

    surprisal_q16: NDArray[np.uint32]
    logits: NDArray[np.int8]
    distance_q16: NDArray[np.uint32]

    @property
    def raw(self) -> RawScores:
        """What a body of all of them computes."""
        return RawScores(self.surprisal_q16, self.logits, self.distance_q16[:, -1])

    def take(self, chosen: Sequence[int]) -> "CandidateScores":
        columns = list(chosen)
        return CandidateScores(
            self.surprisal_q16[:, columns], self.logits, self.distance_q16[:, columns]
        )

    @staticmethod
    def concatenate(parts: "list[CandidateScores]") -> "CandidateScores":
        return CandidateScores(
            np.concatenate([p.surprisal_q16 for p in parts]),
            np.concatenate([p.logits for p in parts]),
            np.concatenate([p.distance_q16 for p in parts]),
        )
