"""snap demo"""

from snapcli.cli.options import RUNS, AsJson, RunsDir

EXAMPLES = "Examples:  snap demo  |  snap demo --json"


def demo(runs_dir: RunsDir = RUNS, json: AsJson = False) -> None:
    """Run all six stages on handwritten digits, with the emulator as the board."""
    from snapcli.cli.pipeline import run_pipeline
    from snapcli.cli.run import find_recipe
    from snapcli.config import load_recipe

    run_pipeline(load_recipe(find_recipe("digits")), runs_dir, json)
