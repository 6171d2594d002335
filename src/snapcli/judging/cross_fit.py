"""A fitted method that is never judged on corruption types that it was fitted to."""

from copy import copy
from dataclasses import dataclass

from snapcli.judging.evidence import Evidence
from snapcli.methods.method import Batch, Dev, Method
from snapcli.score.turns import turns


@dataclass(frozen=True, eq=False)
class Turn:
    """A method, and the corruption types of the test data that it judges beside clean data."""

    method: Method
    types: tuple[str, ...]


class CrossFitted:
    """whole: fitted on all of dev, as it would be deployed; it judges streams and foreign inputs.
    turns: who judges which types. A method that learns shift is fitted for each turn, with what
    the whole took from a few kinds; any other judges all turns itself."""

    def __init__(self, method: Method, evidence: Evidence) -> None:
        """method: not fitted yet."""
        dev = evidence.dev
        self.whole = _fitted(method, evidence.train, dev)
        types = list(dict.fromkeys(key.condition for key in evidence.cells))
        self.turns = [
            Turn(
                _fitted(copy(self.whole), evidence.train, dev.of_types(turn.fitted))
                if self.whole.learns_shift
                else self.whole,
                turn.judged,
            )
            for turn in turns(dev.types(), types)
        ]

    @property
    def judges(self) -> list[Method]:
        """Those of the turns, each once."""
        return list({id(turn.method): turn.method for turn in self.turns}.values())


def _fitted(method: Method, train: Batch, dev: Dev) -> Method:
    method.fit(train, dev)
    return method
