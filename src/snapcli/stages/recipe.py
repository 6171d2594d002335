"""The recipe that train froze into a run."""

from snapcli.config import Recipe, load_recipe
from snapcli.errors import ArtifactError, ConfigError
from snapcli.runs import Run

CONFIG = "config.toml"


def run_recipe(run: Run) -> Recipe:
    try:
        return load_recipe(run.path(CONFIG))
    except ConfigError as error:
        raise ArtifactError(
            f"{run.name}/{CONFIG} cannot be used: {error.message}", "Run: snap train"
        ) from None
