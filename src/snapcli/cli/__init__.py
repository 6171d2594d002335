"""The command line: one file per command. Each parses, calls one stage, and renders."""

import errno
from collections.abc import Callable, Mapping, Sequence

import typer

from snapcli.cli.grouped import GroupedCommand
from snapcli.console import print_error
from snapcli.errors import ArtifactError, InterruptedRunError, SnapError

_CLOSED_PIPE = 141  # as the shell counts a death by SIGPIPE

app = typer.Typer(
    name="snap",
    help="Add an error detector to a microcontroller model: train, calibrate, quantize, export, "
    "flash and measure a classifier that knows when it is wrong.",
    epilog="A first run: snap demo.  What is missing here: snap doctor.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"snap {version('snap-uq')}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    pass


def _register() -> None:
    from snapcli.cli import (
        ablate,
        alarm,
        attach,
        bench,
        calibrate,
        compare,
        cost,
        data,
        demo,
        doctor,
        eval,
        export_c,
        flash,
        fleet,
        inspect,
        kernels,
        methods,
        models,
        monitor,
        ports,
        quantize,
        report,
        run,
        show,
        taps,
        train,
        verify,
    )

    stages = (train, calibrate, quantize, export_c, flash, bench)
    shown = (eval, cost, ablate, report, compare, show, monitor, fleet, inspect)
    around = (demo, run, attach, taps, alarm, *shown, verify, methods, models, ports, doctor)
    for module in (*stages, *around):
        name = module.__name__.rpartition(".")[2]
        command = app.command(
            name.replace("_", "-"), cls=GroupedCommand, epilog=_examples(module.EXAMPLES)
        )
        command(getattr(module, name))
    _add_group("data", data.data.__doc__, data.COMMANDS, data.EXAMPLES)
    _add_group("kernels", kernels.kernels.__doc__, kernels.COMMANDS, kernels.EXAMPLES)


def _add_group(
    name: str,
    help_text: str | None,
    commands: Mapping[str, Callable[..., None]],
    examples: Sequence[str],
) -> None:
    """`snap NAME COMMAND` for each of the commands."""
    group = typer.Typer(rich_markup_mode=None)
    for command, function in commands.items():
        own = [line for line in examples if line.split()[2] == command]
        group.command(command, cls=GroupedCommand, epilog=_examples(own))(function)
    app.add_typer(group, name=name, help=help_text, epilog=_examples(examples))


def _examples(lines: Sequence[str]) -> str:
    # \b keeps the lines below it as they are.
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


def run_app(arguments: list[str]) -> int:
    """The exit code of `snap ARGUMENTS`; every expected problem ends here, in two lines."""
    try:
        code = app(arguments or ["--help"], prog_name="snap", standalone_mode=False) or 0
        # Typer turns Ctrl-C into this exit code.
        if code == InterruptedRunError.exit_code:
            raise InterruptedRunError("interrupted", "Nothing is half-written: run it again.")
        return int(code)
    except SnapError as error:
        print_error(error)
        return error.exit_code
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "snap"
        print_error(SnapError(error.format_message().rstrip("."), f"See: {command} --help"))
        return error.exit_code
    except SystemExit as stop:
        # Typer's answer to a closed pipe: the reader of our output has seen enough.
        if stop.code != 1:
            raise
        return _CLOSED_PIPE
    except OSError as error:
        # Stages turn what disks refuse into errors of ours; this is our own output.
        if error.errno != errno.ENOSPC:
            raise
        problem = ArtifactError(
            "the output cannot be written: no space is left", "Free some, or write it elsewhere."
        )
        print_error(problem)
        return ArtifactError.exit_code


_register()
