"""Several passes of one network with dropout left on."""

from snapcli.baselines.ensemble import MEMBERS, Ensemble, mutual_information, predictive_entropy
from snapcli.baselines.method import Array, Batch, Dev, softmax
from snapcli.baselines.tuning import chosen_from, errors_found

_SCORES = {"entropy": predictive_entropy, "mutual information": mutual_information}
# The paper's.
_PASSES = (5, 10)


class McDropout(Ensemble):
    name = "mc-dropout"
    source = (
        "Gal and Ghahramani, Dropout as a Bayesian Approximation: Representing Model Uncertainty "
        "in Deep Learning, 2016"
    )

    def fit(self, train: Batch, dev: Dev) -> None:
        def auroc(passes: int, score: str) -> float:
            self.passes_, self.score_ = passes, score
            return errors_found(self, dev)

        self.tuning_ = chosen_from({"passes": _PASSES, "score": tuple(_SCORES)}, auroc)
        chosen = self.tuning_.chosen
        self.passes_, self.score_ = chosen["passes"], chosen["score"]

    def posteriors(self, batch: Batch) -> Array:
        return softmax(batch.outputs[MEMBERS][:, : self.passes_])

    def score(self, batch: Batch) -> Array:
        return _SCORES[self.score_](self.posteriors(batch))
