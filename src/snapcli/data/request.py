"""What a loader is asked for."""

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from snapcli.data.files.store import Store
from snapcli.errors import ConfigError, suggestion
from snapcli.progress import OnProgress, silent


@dataclass(frozen=True)
class Request:
    """augment: names of the variations of training data; empty for the data set's own, none for
    none. The rest is for a user's own data: image_size in pixels and channels, 0 for what the
    files have; strict makes a broken file an error instead of a note."""

    store: Store
    augment: tuple[str, ...] = ()
    path: Path | None = None
    image_size: int = 0
    channels: int = 0
    strict: bool = False
    on_progress: OnProgress = field(default=silent, compare=False)

    def augments(self, default: tuple[str, ...], known: Collection[str]) -> tuple[str, ...]:
        """The chosen names, or the default; raises ConfigError for one that is not known."""
        chosen = () if self.augment == ("none",) else self.augment or default
        for name in chosen:
            if name not in known:
                raise ConfigError(
                    f"train.augment names '{name}', which this data set does not have",
                    suggestion(name, (*known, "none")),
                )
        return chosen
