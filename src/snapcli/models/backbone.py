"""What a backbone is, how one is found by name, and how its taps are named."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from snapcli.errors import UsageError, suggestion
from snapcli.models import dscnn


@dataclass(frozen=True)
class Tap:
    """A block whose pooled output is predicted from the pooled output of the block before."""

    before: str
    after: str
    rank: int


@dataclass(frozen=True)
class Backbone:
    """build(input_shape, classes) gives a tf_keras model: image -> {block: map, "logits": [L]}.

    letters are the paper's names for depths (M: mid, P: penultimate) with the default rank.
    """

    name: str
    blocks: tuple[str, ...]
    letters: dict[str, Tap]
    build: Callable[[tuple[int, int, int], int], Any]

    def taps(self, names: tuple[str, ...]) -> tuple[Tap, ...]:
        """Taps by letter or by block name, in the order of depth."""
        found = {self._tap(name) for name in names}
        if not found:
            raise UsageError("no tap given", "Use for example --taps M,P.")
        return tuple(sorted(found, key=lambda tap: self.blocks.index(tap.after)))

    def _tap(self, name: str) -> Tap:
        for tap in self.letters.values():
            if name == tap.after:
                return tap
        if name in self.letters:
            return self.letters[name]
        candidates = (*self.letters, *self.blocks[1:])
        if name in self.blocks[1:]:
            index = self.blocks.index(name)
            rank = max(tap.rank for tap in self.letters.values())
            return Tap(self.blocks[index - 1], name, rank)
        raise UsageError(
            f"'{name}' is no block of {self.name} that can be tapped",
            suggestion(name, candidates),
        )


_BACKBONES = {
    "dscnn-digits": Backbone(
        name="dscnn-digits",
        blocks=dscnn.DIGITS_BLOCKS,
        letters={"M": Tap("block1", "block2", 16), "P": Tap("block3", "block4", 16)},
        build=dscnn.build_digits,
    )
}


def load_backbone(name: str) -> Backbone:
    if name not in _BACKBONES:
        raise UsageError(f"unknown backbone '{name}'", suggestion(name, _BACKBONES))
    return _BACKBONES[name]
