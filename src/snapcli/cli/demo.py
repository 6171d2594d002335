"""snap demo"""

from snapcli.cli.options import RUNS, AsJson, RunsDir

EXAMPLES = (
    "snap demo",
    "snap demo --json",
)


def demo(runs_dir: RunsDir = RUNS, json: AsJson = False) -> None:
    """Run the six above on digits, with the emulator as board."""
    from snapcli.cli.pipeline import run_pipeline
    from snapcli.cli.run import find_recipe
    from snapcli.config import load_recipe

    run_pipeline(load_recipe(find_recipe("digits")), runs_dir, json)
