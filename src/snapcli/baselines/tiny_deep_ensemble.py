"""Members that share all weights but those of their normalisations."""

from snapcli.baselines.ensemble import Ensemble


class TinyDeepEnsemble(Ensemble):
    name = "tiny-deep-ensemble"
    source = (
        "Ahmed, Hefenbrock and Tahoori, Tiny Deep Ensemble: Uncertainty Estimation in Edge AI "
        "Accelerators via Ensembling Normalization Layers with Shared Weights, 2024"
    )
