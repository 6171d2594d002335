"""What a user's own data hold, whichever way they were given."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.data.dataset import Raw, Split
from snapcli.data.sound.clips import Noise
from snapcli.errors import ConfigError


@dataclass(frozen=True)
class Content:
    """Raw examples by division ("all" where the user made none), foreign ones, noises for sounds,
    and what there is to tell. labelled: as in Dataset."""

    class_names: tuple[str, ...]
    divisions: dict[str, Split]
    foreign: Raw | None
    noise: Noise
    notes: tuple[str, ...]
    labelled: bool = True

    @property
    def ood(self) -> dict[str, Raw]:
        return {} if self.foreign is None else {"ood": self.foreign}


def check_classes(y: NDArray[np.int64], class_names: tuple[str, ...], where: str) -> None:
    """Raises ConfigError for a class without an example."""
    counts = np.bincount(y, minlength=len(class_names))
    if not counts.all():
        raise ConfigError(
            f"{where} has no readable example of class '{class_names[int(np.argmin(counts))]}'",
            "Add some, or remove the class.",
        )
