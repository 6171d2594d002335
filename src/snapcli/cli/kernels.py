"""snap kernels fetch, snap kernels list"""

from collections.abc import Callable
from pathlib import Path

from snapcli import console
from snapcli.cli.options import AsJson
from snapcli.config import CMSIS_NN
from snapcli.errors import UsageError

EXAMPLES = (
    "snap kernels list",
    "snap kernels fetch",
    "snap kernels fetch --json",
)


def kernels() -> None:
    """Kernel sets: list them, fetch the one that is Arm's."""


def fetch(json: AsJson = False) -> None:
    """Fetch CMSIS-NN into the cache, unless it is there."""
    from snapcli.kernels import cached_cmsis_nn, fetch_cmsis_nn, kernel_sources

    if cached_cmsis_nn() is None:
        with console.progress("fetch cmsis-nn"):
            fetch_cmsis_nn()
    (source,) = (s for s in kernel_sources() if s.name == CMSIS_NN)
    if json:
        console.print_json(source)
    else:
        console.say(f"{source.name} {source.version} is in {source.folder}")


def announce_fetch(name: str, own_copy: Path | None) -> None:
    """Says so before a command downloads something by itself."""
    from snapcli.kernels import cached_cmsis_nn

    if name != CMSIS_NN and own_copy is not None:
        raise UsageError("--cmsis-nn goes with --kernels cmsis-nn", "Say both, or neither.")
    if name == CMSIS_NN and own_copy is None and cached_cmsis_nn() is None:
        console.note("The cache has no whole CMSIS-NN: fetching it once (snap kernels fetch).")


def list_sets(json: AsJson = False) -> None:
    """List the kernel sets and where their C is."""
    from snapcli.kernels import kernel_sources

    sources = kernel_sources()
    if json:
        console.print_json(sources)
        return
    rows = [(s.name, s.version or "not fetched", str(s.folder or "")) for s in sources]
    console.table("kernel sets", ("name", "version", "folder"), rows)
    if any(s.folder is None for s in sources):
        console.say("To get what is missing: snap kernels fetch")


COMMANDS: dict[str, Callable[..., None]] = {"list": list_sets, "fetch": fetch}
