"""snap data list, fetch, verify, info, preview"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from snapcli import console
from snapcli.cli import render
from snapcli.cli.options import AsJson, DataDir

if TYPE_CHECKING:
    from snapcli.config import TrainOptions

EXAMPLES = (
    "snap data list",
    "snap data fetch mnist fashion-mnist",
    "snap data verify --data-dir ~/data",
    "snap data info speechcmd",
    "snap data info my_photos/ --image-size 32",
    "snap data preview cifar10 --out cifar10.png",
)
_DATASET = typer.Argument(help="A data set as in `snap train --dataset`: a name or a path.")
_SIZE = typer.Option("--image-size", help="Side that your own images are brought to.")
_CHANNELS = typer.Option("--channels", help="1 (grey) or 3 (colour) for your own images.")
_STRICT = typer.Option("--strict", help="A broken file of yours is an error, not skipped.")


def data() -> None:
    """Data sets: where they are, what is in them, how they look."""


def list_all(data_dir: DataDir = None, json: AsJson = False) -> None:
    """List the published data sets and where they are."""
    from snapcli.stages.data import list_sources

    found = list_sources(str(data_dir or ""))
    console.print_json(found) if json else render.sources(found)


def fetch(
    names: Annotated[list[str], typer.Argument(help="Names from `snap data list`.")],
    data_dir: DataDir = None,
    json: AsJson = False,
) -> None:
    """Download data sets by hash, into --data-dir or the cache, unless they are there."""
    from snapcli.stages.data import fetch as stage

    with console.progress("fetch") as on_progress:
        found = stage(names, str(data_dir or ""), on_progress)
    if json:
        console.print_json(found)
        return
    for source in found:
        console.say(f"{source.name} is in {source.place}")


def verify(
    names: Annotated[
        list[str] | None, typer.Argument(help="Names from `snap data list`; all that are here.")
    ] = None,
    data_dir: DataDir = None,
    json: AsJson = False,
) -> None:
    """Compare files with their publishers' hashes, and read them."""
    from snapcli.stages.data import verify as stage

    with console.progress("verify") as on_progress:
        report = stage(names or [], str(data_dir or ""), on_progress)
    console.print_json(report) if json else render.verified_data(report)


def info(
    dataset: Annotated[str, _DATASET],
    image_size: Annotated[int, _SIZE] = 0,
    channels: Annotated[int, _CHANNELS] = 0,
    strict: Annotated[bool, _STRICT] = False,
    data_dir: DataDir = None,
    json: AsJson = False,
) -> None:
    """Show splits, classes, corruptions and foreign sets."""
    from snapcli.stages.data import info as stage

    with console.progress("read") as on_progress:
        report = stage(_options(dataset, image_size, channels, strict, data_dir), on_progress)
    console.print_json(report) if json else render.data_info(report)


def preview(
    dataset: Annotated[str, _DATASET],
    out: Annotated[Path, typer.Option(help="The picture to write.")] = Path("preview.png"),
    image_size: Annotated[int, _SIZE] = 0,
    channels: Annotated[int, _CHANNELS] = 0,
    strict: Annotated[bool, _STRICT] = False,
    data_dir: DataDir = None,
    json: AsJson = False,
) -> None:
    """Draw examples, foreign ones and every corruption at every severity."""
    from snapcli.stages.data import preview as stage

    with console.progress("draw") as on_progress:
        path = stage(_options(dataset, image_size, channels, strict, data_dir), out, on_progress)
    console.print_json({"picture": str(path)}) if json else console.say(f"Look at {path}")


def _options(
    dataset: str, image_size: int, channels: int, strict: bool, data_dir: Path | None
) -> "TrainOptions":
    from snapcli.config import TrainOptions, override

    return override(
        TrainOptions(),
        dataset=dataset,
        image_size=image_size,
        channels=channels,
        strict=strict,
        data_dir=str(data_dir or ""),
    )


COMMANDS: dict[str, Callable[..., None]] = {
    "list": list_all,
    "fetch": fetch,
    "verify": verify,
    "info": info,
    "preview": preview,
}
