"""Which configurations each ablation compares; one of them is the run's."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from snapcli.config import HEADS, INT8, MAPS, MEAN, MEAN_DEVIATION, MINIMAL
from snapcli.errors import UsageError
from snapcli.judging.refit import HeadSpec
from snapcli.models.backbone import Tap

FLOAT32, FLOAT16 = "float32", "float16"
# The score itself, without a map.
RAW = "S"
OWN_HEADS = "heads as trained"
AS_IN_RUN = "as in the run"
_LETTERS = (("P",), ("M",), ("M", "P"), ("E", "M", "P"), ("E", "M1", "M2", "P"))
_EVERY_LETTER = ("E", "M1", "M", "M2", "P")
_RANKS = (0, 4, 8, 16, 32, 64)
_TEMPERATURE = "temperature"


@dataclass(frozen=True)
class Configuration:
    """heads: None for the run's own, else new ones; precision: of their numbers; map: of
    config.MAPS, or RAW; blended: whether the map is told how sure the softmax is."""

    name: str
    heads: HeadSpec | None
    map: str
    precision: str = INT8
    blended: bool = True
    is_reference: bool = False


@dataclass(frozen=True)
class RunFacts:
    """Of a run. own: its heads; as_trained: whether they were trained with the backbone, so that
    heads fitted after it are others. map: the one that other ablations than that of maps judge by.
    letters: taps by the paper's names for depths; widths: {block: numbers it is pooled to}.
    minimal: the head of that kind, None where the backbone has no place for it."""

    own: HeadSpec
    as_trained: bool
    map: str
    deployed_map: str
    letters: Mapping[str, Tap]
    widths: Mapping[str, int]
    minimal: HeadSpec | None = None


def configurations(kind: str, known: RunFacts) -> list[Configuration]:
    """kind: of config.ABLATIONS but mode."""
    rows = _KINDS[kind](known)
    if sum(c.is_reference for c in rows) != 1 or len(rows) < 2:
        raise UsageError(f"there is nothing to compare in an ablation of {kind}", "Take another.")
    return rows


def spread_letters(candidates: tuple[Tap, ...]) -> dict[str, Tap]:
    """The paper's names for taps that have none, by depth."""
    places = np.linspace(0, len(candidates) - 1, len(_EVERY_LETTER)).round().astype(int)
    return {name: candidates[i] for name, i in zip(_EVERY_LETTER, places, strict=True)}


def _taps(known: RunFacts) -> list[Configuration]:
    sets: dict[tuple[Tap, ...], str] = {}
    for names in (*_LETTERS, _EVERY_LETTER):
        taps = tuple(known.letters[name] for name in names if name in known.letters)
        if len(set(taps)) == len(names):
            sets.setdefault(taps, ",".join(names))
    specs = {name: replace(known.own, taps=taps) for taps, name in sets.items()}
    return _refitted(known, specs)


def _rank(known: RunFacts) -> list[Configuration]:
    def cut(rank: int, tap: Tap) -> Tap:
        return replace(tap, rank=min(rank, known.widths[tap.before], known.widths[tap.after]))

    own = replace(known.own, taps=tuple(cut(tap.rank, tap) for tap in known.own.taps))
    specs: dict[str, HeadSpec] = {}
    for rank in _RANKS:
        spec = replace(own, taps=tuple(cut(rank, tap) for tap in own.taps))
        specs.setdefault(_ranks(spec), spec)
    return _refitted(replace(known, own=own), specs)


def _ranks(spec: HeadSpec) -> str:
    ranks = list(dict.fromkeys(tap.rank for tap in spec.taps))
    return f"rank {'/'.join(map(str, ranks if len(ranks) == 1 else [t.rank for t in spec.taps]))}"


def _head(known: RunFacts) -> list[Configuration]:
    specs = {}
    for kind in HEADS:
        plain = known.minimal if kind == MINIMAL else replace(known.own, head=kind)
        if plain is None:
            continue
        specs[kind] = replace(plain, class_mean=False, statistics=MEAN)
        specs[f"{kind}, class mean"] = replace(specs[kind], class_mean=True)
    own = known.own.head
    wide = replace(specs[own], statistics=MEAN_DEVIATION)
    specs[f"{own}, deviations"] = wide
    specs[f"{own}, class mean, deviations"] = replace(wide, class_mean=True)
    return _refitted(known, specs)


def _refitted(known: RunFacts, specs: Mapping[str, HeadSpec]) -> list[Configuration]:
    """All of them and, if it is not among them, the run's."""
    every = {spec: name for name, spec in specs.items()}
    every.setdefault(known.own, "configured as in the run" if known.as_trained else AS_IN_RUN)
    rows = [
        Configuration(name, spec, known.map, is_reference=spec == known.own)
        for spec, name in every.items()
    ]
    return rows + ([Configuration(OWN_HEADS, None, known.map)] if known.as_trained else [])


def _quant(known: RunFacts) -> list[Configuration]:
    return [
        Configuration(name, None, known.map, precision=name, is_reference=name == INT8)
        for name in (FLOAT32, FLOAT16, INT8)
    ]


def _map(known: RunFacts) -> list[Configuration]:
    return [
        Configuration(kind, None, kind, is_reference=kind == known.deployed_map)
        for kind in (RAW, *MAPS)
    ]


def _blend(known: RunFacts) -> list[Configuration]:
    kinds = list(dict.fromkeys(("logistic", "gated", known.map)))
    rows = [Configuration("confidence alone", None, _TEMPERATURE)]
    for kind in kinds:
        alone = Configuration(f"{kind}, S alone", None, kind, blended=False)
        both = f"{kind}, S and confidence"
        rows += [alone, Configuration(both, None, kind, is_reference=kind == known.map)]
    return rows


_KINDS: dict[str, Callable[[RunFacts], list[Configuration]]] = {
    "taps": _taps,
    "rank": _rank,
    "head": _head,
    "quant": _quant,
    "map": _map,
    "blend": _blend,
}
