"""snap demo"""

from snapcli.cli.options import RUNS, AsJson, RunsDir

EXAMPLES = (
    "snap demo",
    "snap demo --json",
)


def demo(runs_dir: RunsDir = RUNS, json: AsJson = False) -> None:
    """Run train to bench on handwritten digits, with the emulator as board."""
    from snapcli.cli.pipeline import run_pipeline
    from snapcli.origin.recipe import recipe_for

    run_pipeline(recipe_for("digits", quick=False), runs_dir, json)
