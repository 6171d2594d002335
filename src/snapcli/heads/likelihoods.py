"""The likelihoods that a head may have."""

from snapcli.heads.gaussian import Gaussian
from snapcli.heads.huber import Huber
from snapcli.heads.likelihood import Likelihood
from snapcli.heads.lowrank import LowRank
from snapcli.heads.mixture import Mixture
from snapcli.heads.student_t import StudentT

LIKELIHOODS: dict[str, type[Likelihood]] = {
    kind.kind: kind for kind in (Gaussian, StudentT, Huber, LowRank, Mixture)
}
