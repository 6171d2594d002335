"""snap verify"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from snapcli import console
from snapcli.cli.flags import Given, takes
from snapcli.cli.kernels import announce_fetch
from snapcli.cli.opening import opened
from snapcli.cli.options import RUNS, AsJson, CmsisNn, ModelFile, RunPath, RunsDir
from snapcli.config import VerifyOptions, override
from snapcli.errors import CheckError, UsageError

if TYPE_CHECKING:
    from snapcli.stages.verify import VerifyReport

EXAMPLES = (
    "snap verify",
    "snap verify --model kws.tflite --target qemu-m7",
    "snap verify --model kws.tflite --kernels cmsis-nn --inputs 100",
    "snap verify --model kws.tflite --data inputs.npy",
)


@takes(VerifyOptions)
def verify(
    given: Given,
    model: ModelFile = None,
    cmsis_nn: CmsisNn = None,
    data: Annotated[
        Path | None, typer.Option(help="A .npy file with inputs, instead of random ones.")
    ] = None,
    run: RunPath = None,
    runs_dir: RunsDir = RUNS,
    json: AsJson = False,
) -> None:
    """Compare TFLite, numpy, C here and C in the emulator, layer by layer."""
    from snapcli.stages.verify import verify_model, verify_run

    if model is not None and run is not None:
        raise UsageError("--model and --run are two different sources", "Give one of them.")
    options = override(VerifyOptions(), **given)
    announce_fetch(options.kernels, cmsis_nn)
    with console.progress("verify") as on_progress:
        if model is not None:
            report = verify_model(model, options, data, cmsis_nn, on_progress)
        else:
            report = verify_run(opened(run, runs_dir), options, data, cmsis_nn, on_progress)
    console.print_json(report) if json else show(report)
    for link in report.links:
        if link.difference:
            d = link.difference
            place = ", ".join(map(str, d.element))
            raise CheckError(
                f"{link.found} differs from {link.expected} first in layer '{d.layer}' "
                f"({d.operator}), element [{place}] of input {d.input}: "
                f"{d.found:g} instead of {d.expected:g}",
                "Every layer before it agrees; look at that layer's kernel and parameters.",
            )


def show(report: "VerifyReport") -> None:
    rows = []
    for link in report.links:
        d = link.difference
        verdict = f"differs from layer {d.layer} on" if d else "equal"
        rows.append((link.expected, link.found, f"{link.steps}", f"{link.values:,}", verdict))
    console.table(
        f"verify: {report.source}, kernels {report.kernels}, {report.inputs} inputs",
        ("expected", "found", "steps", "values", ""),
        rows,
    )
