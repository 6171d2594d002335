"""Entropy of the softmax, in nats."""

from scipy.stats import entropy

from snapcli.baselines.method import Array, Batch, SinglePass, softmax


class Entropy(SinglePass):
    name = "entropy"
    source = "Shannon, A Mathematical Theory of Communication, 1948"

    def score(self, batch: Batch) -> Array:
        return entropy(softmax(batch.logits), axis=-1)
