"""snap run"""

from pathlib import Path
from typing import Annotated

import typer

from snapcli.cli.options import RUNS, AsJson, RunsDir

EXAMPLES = (
    "snap run pipelines/digits.toml",
    "snap run digits --set train.epochs=5 --set export-c.target=qemu-m7",
)


def find_recipe(name: str) -> Path:
    """A file, or a recipe that ships with snap: `digits` or `pipelines/digits.toml`."""
    from snapcli.assets import asset_dir

    path = Path(name)
    shipped = asset_dir("pipelines") / f"{path.stem}.toml"
    names_one = name == path.stem or path.parent == Path("pipelines")
    return shipped if not path.is_file() and names_one and shipped.is_file() else path


def run(
    recipe: Annotated[str, typer.Argument(help="A .toml recipe, or the name of one of ours.")],
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Override stage.option=value; repeatable.")
    ] = None,
    runs_dir: RunsDir = RUNS,
    json: AsJson = False,
) -> None:
    """Run a recipe: the six above with their options."""
    from snapcli.cli.pipeline import run_pipeline
    from snapcli.config import load_recipe

    run_pipeline(load_recipe(find_recipe(recipe), set_ or []), runs_dir, json)
