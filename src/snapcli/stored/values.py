"""JSON, of the kind that its reader expects."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from snapcli.limits import TEXT_MAX, check_held
from snapcli.stored.reading import AGAIN, reading

_INT_LIMIT = 1 << 64
T = TypeVar("T")


def read_json(path: Path, kind: Any = Any, hint: str = AGAIN) -> Any:
    """The content as lists, dictionaries and plain values, after it was found to be of this kind:
    see conform()."""
    with reading(path, hint):
        content = json_value(_text(path))
        conform(kind, content)
        return content


def read_as(path: Path, kind: type[T], hint: str = AGAIN) -> T:
    """The content as an object of this dataclass."""
    with reading(path, hint):
        content: T = conform(kind, json_value(_text(path)))
        return content


def _text(path: Path) -> str:
    with path.open("rb") as file:
        content = file.read(TEXT_MAX + 1)
    check_held(len(content), "it", TEXT_MAX)
    return content.decode("utf-8")


def json_value(text: str) -> Any:
    """As json.loads, but for numbers that are none, or beyond 64 bits, and for names that come
    twice."""
    return json.loads(
        text,
        parse_constant=_no_number,
        parse_float=_finite,
        parse_int=_whole,
        object_pairs_hook=_once,
    )


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is not a number")


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _no_number(text[:40])


def _whole(text: str) -> int:
    value = int(text) if len(text) < 30 else _INT_LIMIT
    return value if abs(value) < _INT_LIMIT else _no_number(f"{text[:20]}...")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("it has one name twice")
    return members


def conform(kind: Any, value: Any, where: str = "it") -> Any:
    """value, as JSON gives it, as the annotated type `kind`: a dataclass (names beyond its own are
    left aside), tuple, list, dict, a union with None, float, int, bool, str or Any. A missing
    figure is null in JSON and nan here. Raises ValueError."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin is UnionType:
        if value is None and NoneType in inner:
            return None
        return conform(inner[0], value, where)
    if kind is float:
        return math.nan if value is None else float(_plain(value, where, int, float))
    if kind in (int, bool, str):
        return _plain(value, where, kind)
    if isinstance(kind, type) and is_dataclass(kind):
        return _object(kind, value, where)
    if origin is dict or origin is Mapping:
        parts = _plain(value, where, dict)
        return {key: conform(inner[1], part, f"{where}.{key}") for key, part in parts.items()}
    if origin in (tuple, list, Sequence):
        parts = _plain(value, where, list)
        fixed = origin is tuple and inner[-1] is not Ellipsis
        if fixed and len(inner) != len(parts):
            raise ValueError(f"{where} has {len(parts)} parts, not {len(inner)}")
        kinds = inner if fixed else inner[:1] * len(parts)
        items = [conform(k, part, where) for k, part in zip(kinds, parts, strict=True)]
        return items if origin is list else tuple(items)
    raise AssertionError(f"no rule for {kind}")


def _plain(value: Any, where: str, *kinds: type) -> Any:
    if type(value) not in kinds:
        raise ValueError(f"{where} is {type(value).__name__}, not {kinds[-1].__name__}")
    return value


def _object(kind: Any, value: Any, where: str) -> Any:
    parts, given = _plain(value, where, dict), {}
    for name, hint, required in _fields(kind):
        if name in parts:
            given[name] = conform(hint, parts[name], f"{where}.{name}")
        elif required:
            raise ValueError(f"{where} has no {name}")
    return kind(**given)


@cache
def _fields(kind: Any) -> list[tuple[str, Any, bool]]:
    hints = get_type_hints(kind)
    return [
        (f.name, hints[f.name], f.default is MISSING and f.default_factory is MISSING)
        for f in fields(kind)
    ]
