"""Which methods a page shows, and how each looks: the same everywhere on it."""

from collections.abc import Sequence

from snapcli.methods.table import REFERENCE as BASE
from snapcli.methods.table import SNAP, is_ours
from snapcli.report.document import legend
from snapcli.results.eval import DONE, EvalReport, MethodFigures, SourceFigures

# What runs on a device comes first; the integer reference has the most data of what equals it.
_PREFERRED = ("int8", "device", "float")
_SLOTS = 10


def main_source(evaluation: EvalReport) -> str:
    sources = evaluation.sources
    return next((name for name in _PREFERRED if name in sources), next(iter(sources)))


def done(source: SourceFigures) -> list[MethodFigures]:
    """The methods that ran."""
    return [method for method in source.methods if method.status == DONE]


def drawn(source: SourceFigures) -> list[MethodFigures]:
    """The methods that pictures show: those that ran, max-probability and ours last, above the
    others. Of our variants only one: tables have all."""
    last = (BASE, our_name(source))
    kept = [m for m in done(source) if m.name in last or not is_ours(m.name)]
    return sorted(kept, key=lambda m: last.index(m.name) if m.name in last else -1)


def our_name(source: SourceFigures) -> str | None:
    """`snap`, or the first of its variants that ran."""
    ran = [m.name for m in done(source) if is_ours(m.name)]
    return SNAP if SNAP in ran else next(iter(ran), None)


def named(source: SourceFigures, name: str | None) -> MethodFigures | None:
    return next((method for method in done(source) if method.name == name), None)


def pair(source: SourceFigures) -> list[MethodFigures]:
    """Ours and max-probability, those of the two that ran."""
    methods = (named(source, name) for name in (our_name(source), BASE))
    return [method for method in methods if method is not None]


class Looks:
    """A class of the style sheet for every method, by the order in which they are listed."""

    def __init__(self, names: Sequence[str]) -> None:
        others = [n for n in dict.fromkeys(names) if n != BASE and n != SNAP]
        ours = [n for n in others if is_ours(n)]
        rest = [n for n in others if not is_ours(n)]
        self._classes = {SNAP: "m-snap", BASE: "m-base"}
        self._classes |= {n: f"m-variant d-{1 + i % 3}" for i, n in enumerate(ours)}
        self._classes |= {n: f"m-{i % _SLOTS} d-{i // _SLOTS}" for i, n in enumerate(rest)}

    @classmethod
    def of(cls, evaluation: EvalReport) -> "Looks":
        return cls([m.name for s in evaluation.sources.values() for m in s.methods])

    def __call__(self, name: str) -> str:
        return self._classes[name]

    def legend(self, names: Sequence[str]) -> str:
        """Pointing at an entry dims all others in the picture."""
        return legend([(name, self(name)) for name in names])
