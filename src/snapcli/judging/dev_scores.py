"""What taps say about errors on dev data: the gain side of choosing them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from snapcli.array import Array
from snapcli.data.evaluation import Evaluation, Key
from snapcli.judging.conditions import conditions
from snapcli.score.calibration import judge
from snapcli.score.confidence import error_logit, fit_temperature
from snapcli.score.maps import Features
from snapcli.score.weights import tap_weights

_CLEAN = Key("dev", "clean")


@dataclass(frozen=True)
class DevScores:
    """Of every dev condition: surprisals [n, taps] and logits [n, classes], as real numbers."""

    evaluation: Evaluation
    surprisal: Mapping[Key, Array]
    logits: Mapping[Key, Array]

    @cached_property
    def temperature(self) -> float:
        dataset = self.evaluation.dataset
        return fit_temperature(self.logits[_CLEAN], dataset.dev.y) if dataset.labelled else 1.0

    @property
    def errors(self) -> int:
        """Of all conditions; without labels and corruptions nobody knows of any."""
        wrong = (
            logits.argmax(axis=-1) != self.evaluation.labels(key)
            for key, logits in self.logits.items()
        )
        return int(sum(w.sum() for w in wrong))

    def auprc_of(self, names: Sequence[str]) -> Callable[[tuple[str, ...]], float]:
        """auprc() by the names of the taps; what was asked before is not computed again."""

        @cache
        def auprc(chosen: tuple[str, ...]) -> float:
            return self.auprc([names.index(name) for name in chosen])

        return auprc

    def auprc(self, columns: list[int]) -> float:
        """Of errors on all conditions by these taps, or without any by confidence alone (the map
        temperature); nan where there is no error."""
        chosen = {key: e[:, columns] for key, e in self.surprisal.items()}
        weights = tap_weights(chosen[_CLEAN], "inverse-variance") if columns else np.zeros(0)
        features = {
            key: Features(
                score=e @ weights,
                error_logit=error_logit(self.logits[key], self.temperature),
                doubt=np.zeros(len(e)),
                surprisal=e,
                answer=self.logits[key].argmax(axis=-1),
                classes=self.logits[key].shape[1],
            )
            for key, e in chosen.items()
        }
        on_dev = conditions(features, self.logits, self.evaluation, "dev")
        return judge("gated" if columns else "temperature", on_dev, on_dev).pooled.auprc

    def correlations(self) -> tuple[Array, Array]:
        """Between the taps [taps, taps], and of each with S of all [taps], over all conditions."""
        everything = np.concatenate(list(self.surprisal.values()))
        weights = tap_weights(self.surprisal[_CLEAN], "inverse-variance")
        together = np.corrcoef(np.column_stack([everything, everything @ weights]), rowvar=False)
        return together[:-1, :-1], together[:-1, -1]
