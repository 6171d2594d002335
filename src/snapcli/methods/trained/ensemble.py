"""What ensembles have in common: a mean posterior, and its entropy as the score."""

import numpy as np
from scipy.stats import entropy

from snapcli.array import Array
from snapcli.methods.method import Batch, TrainedMethod, softmax

MEMBERS = "members"


def predictive_entropy(posteriors: Array) -> Array:
    """[n, members, classes] -> [n]: entropy of the mean posterior, in nats."""
    return np.asarray(entropy(posteriors.mean(axis=1), axis=-1))


def mutual_information(posteriors: Array) -> Array:
    """[n, members, classes] -> [n]: by how much the entropy of the mean posterior exceeds the mean
    of the members' entropies, in nats; 0 where all members say the same."""
    return predictive_entropy(posteriors) - entropy(posteriors, axis=-1).mean(axis=1)


class Ensemble(TrainedMethod):
    """The batch's output "members" [n, members, classes] holds their logits."""

    def posteriors(self, batch: Batch) -> Array:
        return softmax(batch.outputs[MEMBERS])

    def score(self, batch: Batch) -> Array:
        return predictive_entropy(self.posteriors(batch))

    def probabilities(self, batch: Batch) -> Array:
        return self.posteriors(batch).mean(axis=1)
