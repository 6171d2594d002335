"""One network that answers at several depths."""

from snapcli.baselines.ensemble import Ensemble


class EarlyExit(Ensemble):
    name = "early-exit"
    source = (
        "Qendro, Campbell, Lio and Mascolo, Early Exit Ensembles for Uncertainty "
        "Quantification, 2021"
    )
