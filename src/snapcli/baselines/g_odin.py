"""The largest cosine to a class, after a step of the input that makes it larger."""

from snapcli.baselines.method import Array, Batch, Dev, softmax
from snapcli.baselines.trained import Trained
from snapcli.baselines.tuning import chosen_from
from snapcli.models.variants.g_odin import MAGNITUDES, PERTURBED, G, H


class GOdin(Trained):
    name = "g-odin"
    source = (
        "Hsu, Shen, Jin and Kira, Generalized ODIN: Detecting Out-of-distribution Image without "
        "Learning from Out-of-distribution Data, 2020"
    )

    def fit(self, train: Batch, dev: Dev) -> None:
        """The step is the one after which clean dev data look most familiar: no error and no
        corruption is needed."""
        perturbed = dev.clean.outputs[PERTURBED]
        grid = {"magnitude": MAGNITUDES}
        by = "mean of the largest h on clean dev data"
        self.tuning_ = chosen_from(
            grid, lambda magnitude: float(perturbed[:, MAGNITUDES.index(magnitude)].mean()), by
        )
        self.column_ = MAGNITUDES.index(self.tuning_.chosen["magnitude"])

    def score(self, batch: Batch) -> Array:
        return -batch.outputs[PERTURBED][:, self.column_]

    def probabilities(self, batch: Batch) -> Array:
        return softmax(batch.outputs[H] / batch.outputs[G][:, None])
