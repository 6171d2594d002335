"""Recipes: those that ship with snap, and the one that train froze into a run."""

import os
from dataclasses import replace
from pathlib import Path

from snapcli.assets import asset_dir
from snapcli.config import Recipe, load_recipe
from snapcli.data.files.store import VARIABLE
from snapcli.errors import ArtifactError, ConfigError, UsageError
from snapcli.runs import Run
from snapcli.usercode import named_in_file

CONFIG = "config.toml"


def run_recipe(run: Run) -> Recipe:
    """SNAP_DATA_DIR, where it is set, takes the place of the folder that was trained from."""
    path = run.path(CONFIG)
    try:
        if path.exists() and not path.is_file():
            raise ConfigError("it is not a file")
        recipe = load_recipe(path)
    except ConfigError as error:
        raise ArtifactError(
            f"{run.name}/{CONFIG} cannot be used: {error.message}", "Run: snap train"
        ) from None
    code_named_in(recipe, f"{CONFIG} of {run.name}")
    place = os.environ.get(VARIABLE)
    if not place:
        return recipe
    return replace(
        recipe,
        train=replace(recipe.train, data_dir=place),
        attach=replace(recipe.attach, data_dir=place),
    )


def code_named_in(recipe: Recipe, file: str) -> None:
    """Functions that a recipe names were not typed, and may come from somebody else."""
    named_in_file(file, recipe.train.backbone, recipe.attach.data, recipe.attach.front_end)


def find_recipe(name: str) -> Path:
    """A file, or a recipe that ships with snap: `digits` or `pipelines/digits.toml`."""
    path = Path(name)
    shipped = asset_dir("pipelines") / f"{path.stem}.toml"
    names_one = name == path.stem or path.parent == Path("pipelines")
    return shipped if not path.is_file() and names_one and shipped.is_file() else path


def run_prefix(dataset: str) -> str:
    """What the runs of a data set are named after: its name, or that of its file or folder."""
    return "".join(c if c.isalnum() else "-" for c in Path(dataset).stem).strip("-") or "run"


def recipe_for(dataset: str, quick: bool) -> Recipe:
    """The recipe that ships for a data set, or the defaults for one of the user's own."""
    name = f"{Path(dataset).name}{'-quick' if quick else ''}"
    path = asset_dir("pipelines") / f"{name}.toml"
    if Path(dataset).name == dataset and path.is_file():
        return load_recipe(path)
    if quick:
        raise UsageError(f"{dataset} has no quick recipe", "Leave --quick out, or set --epochs.")
    return Recipe()
