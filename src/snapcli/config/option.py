"""An option of a stage: a dataclass field that says everything about itself.

From what it says come the check of its value, its flag on the command line with help and group,
and its row in docs/options.md.
"""

import shlex
from dataclasses import Field, dataclass, field, fields
from types import NoneType
from typing import Any, ClassVar, cast, get_args

from snapcli.errors import ConfigError

SEED_MAX = 2**32 - 1


@dataclass(frozen=True)
class Option:
    """What a field of a class of options says about itself, in words for users.

    help: one sentence; the choices of one_of are listed behind a colon at its end.
    limits: lowest and highest value, both allowed; of each item where there are several.
    unset: a value outside of the limits that stands for "not given".
    only_with: another option and the value of it without which this one has no effect.
    group: heading in the help. shown: the default in words, where its value says too little.
    recipe: whose recipe comes before the default, "the data set's" or "the run's".
    flag: as it is spelled, if not --like-the-field; None: in recipes only.
    switch: what a flag without a value stands for. folder: the path of one that exists.
    repeated: the flag takes one name and may be given again, instead of names with commas."""

    help: str
    limits: tuple[float, float] | None = None
    one_of: tuple[str, ...] = ()
    unset: float | None = None
    only_with: tuple[str, str] | None = None
    group: str = ""
    shown: str = ""
    recipe: str = ""
    flag: str | None = ""
    switch: float | None = None
    folder: bool = False
    repeated: bool = False

    @property
    def text(self) -> str:
        """The help, with the value of another option that it is for, and with the choices."""
        prefix = f"{self.only_with[1]}: " if self.only_with else ""
        choices = f" {listed(self.one_of)}." if self.help.endswith(":") else ""
        return f"{prefix}{self.help}{choices}"


def option(default: Any, help: str, **told: Any) -> Any:
    """A field of a class of options; told are the fields of Option."""
    return field(default=default, metadata={"option": Option(help, **told)})


def option_of(f: "Field[Any]") -> Option:
    told: Option = f.metadata["option"]
    return told


def value_type(f: "Field[Any]") -> type:
    """Of a value: of one item where there are several, without None where it may be left out."""
    inner = [part for part in get_args(f.type) if part not in (NoneType, Ellipsis)]
    return cast(type, inner[0] if inner else f.type)


def flag_of(f: "Field[Any]") -> str:
    return option_of(f).flag or "--" + f.name.replace("_", "-")


def default_text(f: "Field[Any]") -> str:
    """The default as people read it; empty for a switch that is off, and where there is none."""
    told, default = option_of(f), f.default
    if default is True or default is False:
        on, both, off = flag_of(f).removeprefix("--").partition("/--")
        text = (on if default else off) if both else ""
    elif isinstance(default, tuple):
        text = ",".join(map(str, default))
    elif isinstance(default, float):
        text = f"{default:g}"
    else:
        text = "" if default in (None, told.unset) else str(default)
    text = told.shown or text
    return f"{told.recipe} recipe, else {text}" if told.recipe else text


def listed(names: tuple[str, ...]) -> str:
    """`a, b or c`"""
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


@dataclass(frozen=True)
class StageOptions:
    """Options of a stage. Each is checked by itself; what several must agree on is checked by
    hand, in check_together."""

    stage: ClassVar[str]

    def __post_init__(self) -> None:
        for f in fields(self):
            self._check(f)
        self.check_together()

    def check_together(self) -> None:
        """Raises ConfigError for options that do not go together."""

    def _check(self, f: "Field[Any]") -> None:
        told, given = option_of(f), getattr(self, f.name)
        name = f"{self.stage}.{f.name}"
        for value in given if isinstance(given, tuple) else (given,):
            if value is None or value == told.unset:
                continue
            if told.limits:
                check_limits(name, value, told.limits)
            if told.one_of and value not in told.one_of:
                choices = ", ".join(told.one_of)
                raise ConfigError(f"{name} is '{value}'", f"It must be one of {choices}.")
        if told.only_with and given != f.default:
            other, wanted = told.only_with
            switch = getattr(self, other)
            if switch != wanted:
                needed = f"--{other} {shlex.quote(wanted)}"
                raise ConfigError(f"{name} is for {needed}", f"It is {switch} now.")


def check_limits(name: str, value: float, limits: tuple[float, float]) -> None:
    """Raises ConfigError for a value outside of them, and for nan."""
    low, high = limits
    if not low <= value <= high:
        ends = (f"{end:g}" if isinstance(end, float) else str(end) for end in limits)
        raise ConfigError(f"{name} is {value}", f"It must lie between {' and '.join(ends)}.")
