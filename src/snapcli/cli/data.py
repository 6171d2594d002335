"""snap data list, fetch, verify, info, preview"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from snapcli import console
from snapcli.cli.flags import Given, takes
from snapcli.cli.options import AsJson
from snapcli.cli.render import notes
from snapcli.config import TrainOptions, override

if TYPE_CHECKING:
    from snapcli.stages.data import InfoReport, SourceView, VerifyDataReport

EXAMPLES = (
    "snap data list",
    "snap data fetch mnist fashion-mnist",
    "snap data verify --data-dir ~/data",
    "snap data info speechcmd",
    "snap data info my_photos/ --image-size 32",
    "snap data preview cifar10 --out cifar10.png",
)
_DATASET = typer.Argument(help="A data set as in `snap train --dataset`: a name or a path.")
_FOLDER = takes(TrainOptions, "data_dir")
_READING = takes(TrainOptions, "image_size", "channels", "strict", "data_dir")


def data() -> None:
    """Data sets: where they are, what is in them, how they look."""


@_FOLDER
def list_all(given: Given, json: AsJson = False) -> None:
    """List the published data sets and where they are."""
    from snapcli.stages.data import list_sources

    sources = list_sources(given.get("data_dir", ""))
    console.print_json(sources) if json else show_sources(sources)


@_FOLDER
def fetch(
    names: Annotated[list[str], typer.Argument(help="Names from `snap data list`.")],
    given: Given,
    json: AsJson = False,
) -> None:
    """Download data sets by hash, into --data-dir or the cache, unless they are there."""
    from snapcli.stages.data import fetch as stage

    with console.progress("fetch") as on_progress:
        fetched = stage(names, given.get("data_dir", ""), on_progress)
    if json:
        console.print_json(fetched)
        return
    for source in fetched:
        console.say(f"{source.name} is in {source.place}")


@_FOLDER
def verify(
    given: Given,
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Names from `snap data list`; otherwise all that are here."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Compare files with their publishers' hashes, and read them."""
    from snapcli.stages.data import verify as stage

    with console.progress("verify") as on_progress:
        report = stage(names or [], given.get("data_dir", ""), on_progress)
    console.print_json(report) if json else show_checks(report)


@_READING
def info(
    dataset: Annotated[str, _DATASET],
    given: Given,
    json: AsJson = False,
) -> None:
    """Show splits, classes, corruptions and foreign sets."""
    from snapcli.stages.data import info as stage

    with console.progress("read") as on_progress:
        report = stage(override(TrainOptions(), dataset=dataset, **given), on_progress)
    console.print_json(report) if json else show_info(report)


@_READING
def preview(
    dataset: Annotated[str, _DATASET],
    given: Given,
    out: Annotated[Path, typer.Option(help="The picture to write.")] = Path("preview.png"),
    json: AsJson = False,
) -> None:
    """Draw examples, foreign ones and every corruption at every severity."""
    from snapcli.stages.data import preview as stage

    with console.progress("draw") as on_progress:
        path = stage(override(TrainOptions(), dataset=dataset, **given), out, on_progress)
    console.print_json({"picture": str(path)}) if json else console.say(f"Look at {path}")


COMMANDS: dict[str, Callable[..., None]] = {
    "list": list_all,
    "fetch": fetch,
    "verify": verify,
    "info": info,
    "preview": preview,
}


def show_sources(views: "Sequence[SourceView]") -> None:
    rows = [("digits", "1,797 handwritten digits, 8x8", "inside scikit-learn")]
    for source in views:
        if source.place:
            where = source.place
        else:
            where = f"fetch {source.size_bytes / 1e6:,.0f} MB" if source.size_bytes else "by hand"
        rows.append((source.name, source.title, where))
    console.table("data sets", ("name", "what", "where"), rows)


def show_checks(report: "VerifyDataReport") -> None:
    told = {
        "published": "as published",
        "differs": "not the publisher's bytes",
        "unpacked": "unpacked: no archive to compare",
        "missing": "not here, but needed to read the others",
    }
    rows = [(check.source, check.file, told[check.status]) for check in report.files]
    console.table("files", ("data set", "file", "sha256"), rows)
    readable = ", ".join(report.loaded) or "none"
    console.say(f"Read without an error: {readable}")


def show_info(report: "InfoReport") -> None:
    notes(report.notes)
    height, width, channels = report.input_shape
    splits = ", ".join(f"{name} {sum(c.values()):,}" for name, c in report.counts.items())
    rows = [
        ("input", f"{height} x {width} x {channels}"),
        ("examples", splits),
        ("foreign", ", ".join(f"{name} {n:,}" for name, n in report.ood.items()) or "none"),
        ("corruptions", ", ".join(report.corruptions)),
    ]
    if report.published_corruptions:
        rows.append(("of them as published", ", ".join(report.published_corruptions)))
    if single := [name for name, count in report.severities.items() if count == 1]:
        rows.append(("of one severity on test", ", ".join(single)))
    console.pairs(f"data: {report.name}", rows)
    classes = [
        (name, *(f"{report.counts[split][name]:,}" for split in report.counts))
        for name in report.counts["train"]
    ]
    console.table("classes", ("class", *report.counts), classes)
