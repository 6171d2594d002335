"""The networks that methods train, by the names of the methods."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from snapcli.models.backbone import Backbone
from snapcli.models.variants import (
    deep_ensemble,
    early_exit,
    evidential,
    g_odin,
    hydra,
    mc_dropout,
    qute,
    tiny_deep_ensemble,
)
from snapcli.models.variants.lesson import Lesson
from snapcli.models.variants.observe import Observe, logits, members, passes, perturbed

Build = Callable[[Backbone, tuple[int, int, int], int], Any]


@dataclass(frozen=True)
class Kind:
    """build: what is deployed; learner: what is trained, where that has more to it."""

    build: Build
    lesson: type[Lesson] = Lesson
    observe: Callable[[Any], Observe] = members
    learner: Build | None = None


# Its members are trained one by one; the other learns from it.
DEEP_ENSEMBLE, HYDRA = "deep-ensemble", "hydra"
KINDS = {
    "evidential": Kind(evidential.build, evidential.Evidence, logits),
    "mc-dropout": Kind(mc_dropout.build, observe=passes),
    DEEP_ENSEMBLE: Kind(deep_ensemble.build),
    "early-exit": Kind(early_exit.build),
    HYDRA: Kind(hydra.build, hydra.Imitation),
    "qute": Kind(qute.build, qute.Assisted, learner=qute.build_training),
    "tiny-deep-ensemble": Kind(tiny_deep_ensemble.build),
    "g-odin": Kind(g_odin.build, g_odin.Decomposed, perturbed),
}
