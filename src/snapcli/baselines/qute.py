"""One network whose further heads were assisted by early exits."""

from snapcli.baselines.ensemble import Ensemble


class Qute(Ensemble):
    name = "qute"
    source = (
        "Ghanathe and Wilton, QUTE: Quantifying Uncertainty in TinyML models with "
        "Early-exit-assisted ensembles, 2024"
    )
