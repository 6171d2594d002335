"""Networks that were trained independently, the run's own among them."""

from snapcli.baselines.ensemble import Ensemble


class DeepEnsemble(Ensemble):
    name = "deep-ensemble"
    source = (
        "Lakshminarayanan, Pritzel and Blundell, Simple and Scalable Predictive Uncertainty "
        "Estimation using Deep Ensembles, 2017"
    )
