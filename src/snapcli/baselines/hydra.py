"""One network whose heads imitate the members of the deep ensemble."""

from snapcli.baselines.ensemble import Ensemble


class Hydra(Ensemble):
    name = "hydra"
    source = "Tran et al., Hydra: Preserving Ensemble Diversity for Model Distillation, 2020"
