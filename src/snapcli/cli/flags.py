"""Flags of a command, made from the options that its stage takes."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import Field, fields
from pathlib import Path
from typing import Annotated, Any

import typer

from snapcli.config.option import (
    StageOptions,
    default_text,
    flag_of,
    option_of,
    value_type,
)
from snapcli.errors import UsageError

Given = dict[str, Any]
"""Options that were typed, and no others, as {field: value}."""
Command = Callable[..., None]


def takes(options: type[StageOptions], *only: str) -> Callable[[Command], Command]:
    """Replaces a command's parameter `given` by a flag for every option, or for some of them.

    A parameter with the name of an option takes the place of its flag."""

    def expand(command: Command) -> Command:
        own = inspect.signature(command).parameters
        flags = [
            f
            for f in fields(options)
            if f.name not in own and (f.name in only if only else option_of(f).flag is not None)
        ]

        @functools.wraps(command)
        def call(**typed: Any) -> None:
            values = {f.name: _value(f, typed.pop(f.name)) for f in flags}
            given = {name: value for name, value in values.items() if value is not None}
            command(given=given, **typed)

        parameters = []
        for name, parameter in own.items():
            if name == "given":
                parameters += [_parameter(f) for f in flags]
            else:
                parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
        call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return call

    return expand


def about(options: type[StageOptions], name: str) -> str:
    """The help of one option, for a command that spells its flag itself."""
    return next(option_of(f).text for f in fields(options) if f.name == name)


def names(text: str) -> tuple[str, ...]:
    """With commas between them."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def whole_numbers(flag: str, text: str, example: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"cannot read {flag} {text}", f"Write it as {example}.") from None


def _parameter(f: "Field[Any]") -> inspect.Parameter:
    """The flag as Typer wants it; None where it is not given."""
    told, default = option_of(f), default_text(f)
    help_text = told.text + (f"  [default: {default}]" if default else "")
    if told.folder:
        kind: Any = Path
    elif told.switch is not None:
        kind = bool
    elif isinstance(f.default, tuple):
        kind = list[str] if told.repeated else str
    else:
        kind = value_type(f)
    flag = typer.Option(
        flag_of(f),
        help=help_text,
        rich_help_panel=told.group or None,
        show_default=False,
        exists=told.folder,
        file_okay=not told.folder,
        resolve_path=told.folder,
    )
    return inspect.Parameter(
        f.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[kind | None, flag],
    )


def _value(f: "Field[Any]", typed: Any) -> Any:
    """What was typed as the option has it; None where nothing was."""
    told = option_of(f)
    if typed is None:
        return None
    if told.switch is not None:
        return told.switch if typed else None
    if told.folder:
        return str(typed)
    if told.repeated:
        return tuple(typed) or None
    if not isinstance(f.default, tuple):
        return typed
    return whole_numbers(flag_of(f), typed, "32,64") if value_type(f) is int else names(typed)
