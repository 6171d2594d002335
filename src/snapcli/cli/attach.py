"""snap attach"""

from pathlib import Path
from typing import Annotated

import typer

from snapcli import console
from snapcli.cli import render
from snapcli.cli.kernels import announce_fetch
from snapcli.cli.options import RUNS, AsJson, CmsisNn, DataDir, Kernels, RunsDir
from snapcli.cli.words import names, whole_numbers
from snapcli.errors import UsageError
from snapcli.targets import target_names

EXAMPLES = (
    "snap attach kws.tflite --data recordings/ --target small-mcu",
    "snap attach kws.tflite --data recordings/ --labels down,go,left,no,unknown",
    "snap attach model.keras --data photos/ --front-end unit --augment-dev",
    "snap attach model.tflite --data inputs.npz --taps conv2,conv3 --coverage 0.95",
    "snap attach model.h5 --data mypkg.inputs:load",
)
# Every corrupted condition costs a pass over so many examples.
_LIMIT = 100


def attach(
    model: Annotated[
        Path, typer.Argument(help="An int8 .tflite, a .keras, a .h5 or a SavedModel folder.")
    ],
    data: Annotated[
        str,
        typer.Option(
            help="Inputs like those that the model will see: a folder of images or .wav files, "
            "an .npz, module:function, or a data set of `snap data list`."
        ),
    ],
    labels: Annotated[
        str | None,
        typer.Option(
            help="Names of the classes in the order of the model's outputs (with commas, or a "
            ".txt), or the answers (.csv: file, class; .npy: numbers)."
        ),
    ] = None,
    front_end: Annotated[
        str | None,
        typer.Option(
            help="How files become inputs: pixels, unit, signed, log-mel, mlperf-kws or "
            "module:function; the one that fits the model."
        ),
    ] = None,
    taps: Annotated[
        str | None,
        typer.Option(help="auto, or tensors (see `snap inspect`) or pairs a:b, with commas."),
    ] = None,
    ranks: Annotated[
        str | None, typer.Option(help="Of the projections: one for all taps or one for each.")
    ] = None,
    max_overhead: Annotated[
        float | None,
        typer.Option(help="Percent of the model's instructions that taps of auto may add."),
    ] = None,
    augment_dev: Annotated[
        bool | None,
        typer.Option("--augment-dev", help="Our corruptions stand in for a shift of the inputs."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(help=f"Examples of each corrupted condition; {_LIMIT}.")
    ] = None,
    coverage: Annotated[
        float | None, typer.Option(help="Share of clean inputs that is accepted; 0.9.")
    ] = None,
    map: Annotated[
        str | None, typer.Option(help="From S to U, as in `snap calibrate`; auto.")
    ] = None,
    allow_code: Annotated[
        bool,
        typer.Option("--allow-code", help="Run code inside of a Keras model that you trust."),
    ] = False,
    target: Annotated[
        str | None, typer.Option(help=f"{', '.join(target_names())}; qemu-m4.")
    ] = None,
    kernels: Kernels = None,
    cmsis_nn: CmsisNn = None,
    data_dir: DataDir = None,
    seed: Annotated[int | None, typer.Option(help="Of everything random.")] = None,
    runs_dir: RunsDir = RUNS,
    json: AsJson = False,
) -> None:
    """Give a finished model heads, a map and a threshold, into a new run."""
    from dataclasses import replace

    from snapcli.config import Recipe, override
    from snapcli.origin.recipe import run_prefix
    from snapcli.runs import new_run
    from snapcli.stages.attach import attach as stage
    from snapcli.usercode import allow_code as allow

    allow(allow_code)
    if taps is not None and not names(taps):
        raise UsageError("no tap given", "Name some, or leave --taps out.")
    if coverage is not None and not 0 < coverage <= 1:
        raise UsageError(f"--coverage is {coverage:g}", "Give a share above 0, at most 1.")
    defaults = Recipe()
    recipe = replace(
        defaults,
        attach=override(
            defaults.attach,
            model=str(model.expanduser().resolve()),
            data=_placed(data),
            data_dir=str(data_dir) if data_dir else None,
            labels=_placed(labels) if labels else None,
            front_end=front_end,
            code_dir=str(Path.cwd()) if ":" in f"{data}{front_end or ''}" else None,
            taps=names(taps),
            ranks=whole_numbers("--ranks", ranks, "32,64"),
            max_overhead=max_overhead,
            augment_dev=augment_dev,
            seed=seed,
        ),
        calibrate=override(
            defaults.calibrate, map=map, target=coverage, limit=_LIMIT if limit is None else limit
        ),
        export_c=override(defaults.export_c, target=target, kernels=kernels),
    )
    announce_fetch(recipe.export_c.kernels, cmsis_nn)
    place = new_run(runs_dir, run_prefix(str(model)))
    with place as run, console.progress("attach") as on_progress:
        report = stage(run, recipe, cmsis_nn, on_progress)
    console.print_json(report) if json else render.attach(report)


def _placed(name: str) -> str:
    """Later commands find a file from wherever they are typed; a data set's name is no file."""
    from snapcli.data.loading import NAMES

    path = Path(name).expanduser()
    return str(path.resolve()) if name and name not in NAMES and path.exists() else name
