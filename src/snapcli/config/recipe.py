"""A recipe: TOML with a table per stage, and the options of the command line over it.

Every value has a default, an unknown key or a value of the wrong type or range is an error that
names it.
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from snapcli.config.alarm import AlarmOptions
from snapcli.config.attach import AttachOptions
from snapcli.config.calibrate import CalibrateOptions
from snapcli.config.device import BenchOptions, ExportOptions, QuantizeOptions
from snapcli.config.option import StageOptions, value_type
from snapcli.config.train import TrainOptions
from snapcli.errors import ConfigError, UsageError, suggestion
from snapcli.limits import TEXT_MAX, read_bytes


@dataclass(frozen=True)
class Recipe:
    """The stages with their options; flash has none beyond the target. A run begins with attach
    where that names a model, otherwise with train."""

    attach: AttachOptions = field(default_factory=AttachOptions)
    train: TrainOptions = field(default_factory=TrainOptions)
    calibrate: CalibrateOptions = field(default_factory=CalibrateOptions)
    quantize: QuantizeOptions = field(default_factory=QuantizeOptions)
    alarm: AlarmOptions = field(default_factory=AlarmOptions)
    export_c: ExportOptions = field(default_factory=ExportOptions)
    bench: BenchOptions = field(default_factory=BenchOptions)


Options = TypeVar("Options", bound=StageOptions)
# Older runs have it; that code may run is never part of a recipe.
_GONE = {("attach", "allow_code")}


def override(options: Options, **given: Any) -> Options:
    """The same options with every value of the command line that is not None replaced."""
    changes = {k: v for k, v in given.items() if v is not None}
    try:
        return replace(options, **changes)
    except ConfigError as error:
        raise UsageError(error.message, error.hint) from None


def load_recipe(path: Path, overrides: Iterable[str] = ()) -> Recipe:
    """A TOML file, then `stage.option=value` overrides with TOML values."""
    try:
        text = read_bytes(path, TEXT_MAX).decode("utf-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise ConfigError(
            f"cannot read {path}: {reason}", "Give the path of a .toml recipe."
        ) from None
    tables = _parse(text, str(path))
    for item in overrides:
        dotted, sign, value = item.partition("=")
        stage, dot, option = dotted.strip().partition(".")
        if not (sign and dot):
            raise ConfigError(f"cannot read '{item}'", "Write it as stage.option=value.")
        tables.setdefault(stage, {})
        if not isinstance(tables[stage], dict):
            raise ConfigError(f"{stage} of {path} is not a table", f"Write [{stage}].")
        tables[stage][option] = _parse_value(value)
    return recipe_from(tables)


def _parse(text: str, origin: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{origin} is not TOML: {error}", "Fix that line.") from None


def _parse_value(text: str) -> Any:
    """A TOML value; a bare word is a string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return text.strip()


def recipe_from(tables: Mapping[str, Any]) -> Recipe:
    known = {f.name.replace("_", "-"): f.name for f in fields(Recipe)}
    defaults, parts = Recipe(), {}
    for name, values in tables.items():
        if name not in known:
            raise ConfigError(f"unknown table [{name}]", suggestion(name, known))
        if not isinstance(values, dict):
            raise ConfigError(f"'{name}' is not a table", f"Write [{name}].")
        attribute = known[name]
        options = getattr(defaults, attribute)
        parts[attribute] = replace(options, **_checked(name, options, values))
    return Recipe(**parts)


def _checked(stage: str, options: StageOptions, values: Mapping[str, Any]) -> dict[str, Any]:
    known = {f.name: f for f in fields(options)}
    checked = {}
    for key, value in values.items():
        if (stage, key) in _GONE:
            continue
        if key not in known:
            raise ConfigError(f"unknown option {stage}.{key}", suggestion(key, known))
        expected = type(known[key].default)
        if expected is tuple and isinstance(value, list):
            value = tuple(value)
        if expected is float and type(value) is int and abs(value) < 2**53:
            value = float(value)
        inner = value_type(known[key])
        words = not isinstance(value, tuple) or all(type(v) is inner for v in value)
        if type(value) is not expected or not words:
            kind = {"str": "text", "int": "a whole number", "float": "a number"}
            names = "whole numbers" if inner is int else "names"
            kind |= {"tuple": f"a list of {names}", "bool": "true or false"}
            raise ConfigError(
                f"{stage}.{key} is {value!r}", f"It must be {kind[expected.__name__]}."
            )
        checked[key] = value
    return checked


def dump_recipe(recipe: Recipe) -> str:
    """TOML that load_recipe reads back as the same recipe."""
    lines = []
    unused = ("train", "quantize") if recipe.attach.model else ("attach",)
    for part in fields(Recipe):
        if part.name in unused:
            continue
        lines.append(f"[{part.name.replace('_', '-')}]")
        options = getattr(recipe, part.name)
        lines += [f"{key} = {_toml(value)}" for key, value in asdict(options).items()]
        lines.append("")
    return "\n".join(lines)


def _toml(value: Any) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml(v) for v in value) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(value)
