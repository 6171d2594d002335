"""snap run"""

from typing import Annotated

import typer

from snapcli.cli.options import RUNS, AllowCode, AsJson, RunsDir

EXAMPLES = (
    "snap run pipelines/digits.toml",
    "snap run digits --set train.epochs=5 --set export-c.target=qemu-m7",
    "snap run cifar10-quick --set train.data_dir=/data",
)


def run(
    recipe: Annotated[str, typer.Argument(help="A .toml recipe, or the name of one of ours.")],
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Override stage.option=value; repeatable.")
    ] = None,
    allow_code: AllowCode = False,
    runs_dir: RunsDir = RUNS,
    json: AsJson = False,
) -> None:
    """Run a recipe: train to bench, with its options."""
    from snapcli.cli.pipeline import run_pipeline
    from snapcli.config import load_recipe
    from snapcli.origin.recipe import code_named_in, find_recipe
    from snapcli.usercode import allow_code as allow

    allow(allow_code)
    path = find_recipe(recipe)
    code_named_in(load_recipe(path), str(path))
    run_pipeline(load_recipe(path, set_ or []), runs_dir, json)
