"""What a backbone is, how one is found by name, and how its taps are named."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from snapcli.errors import UsageError, suggestion
from snapcli.models import cnn, dscnn, mobilenetv2, own, resnet8

_DEFAULT_RANK = 32
_LOG_MEL = (98, 40, 1)


@dataclass(frozen=True)
class Tap:
    """A block whose pooled output is predicted from the pooled output of the block before; the
    rank of the projection is at most the width of either."""

    before: str
    after: str
    rank: int


@dataclass(frozen=True)
class Backbone:
    """build(input_shape, classes) gives a tf_keras model: image -> {block: map, "logits": [L]}.

    letters are the paper's names for depths (M: mid, P: penultimate): the block and the default
    rank. A user's own backbone has neither: its taps are pairs of layers, a:b.
    """

    name: str
    build: Callable[[tuple[int, int, int], int], Any]
    blocks: tuple[str, ...] = ()
    letters: tuple[tuple[str, str, int], ...] = ()

    def taps(self, names: tuple[str, ...]) -> tuple[Tap, ...]:
        """Taps by letter, by block or as a pair of layers; blocks in the order of depth."""
        found = list(dict.fromkeys(self._tap(name) for name in names))
        if not found:
            raise UsageError("no tap given", "Use for example --taps M,P.")
        depth = {block: i for i, block in enumerate(self.blocks)}
        return tuple(sorted(found, key=lambda tap: depth.get(tap.after, 0)))

    def _tap(self, name: str) -> Tap:
        before, colon, after = name.partition(":")
        if colon and before and after:
            if self.blocks:
                self._check(before, self.blocks)
                self._check(after, self.blocks)
                own.check_order(before, after, self.blocks, self.name)
            return Tap(before, after, _DEFAULT_RANK)
        if not self.blocks:
            raise UsageError(
                f"'{name}' names no tap of {self.name}",
                "Name the layers on both sides of it: --taps layer_a:layer_b",
            )
        ranks = {block: rank for _, block, rank in self.letters}
        block = {letter: block for letter, block, _ in self.letters}.get(name, name)
        self._check(block, self.blocks[1:])
        rank = ranks.get(block, max(ranks.values()))
        return Tap(self.blocks[self.blocks.index(block) - 1], block, rank)

    def _check(self, block: str, allowed: tuple[str, ...]) -> None:
        if block not in allowed:
            known = (*(letter for letter, _, _ in self.letters), *allowed)
            raise UsageError(
                f"'{block}' is no block of {self.name} that can be tapped",
                suggestion(block, known),
            )


BACKBONES = {
    backbone.name: backbone
    for backbone in (
        Backbone(
            "dscnn-digits",
            dscnn.build_digits,
            dscnn.BLOCKS,
            (("M", "block2", 16), ("P", "block4", 16)),
        ),
        Backbone(
            "cnn-mnist", cnn.build_mnist, cnn.BLOCKS, (("M", "block2", 16), ("P", "block3", 16))
        ),
        Backbone(
            "resnet8", resnet8.build, resnet8.BLOCKS, (("M", "stage2", 16), ("P", "stage3", 32))
        ),
        Backbone("dscnn", dscnn.build, dscnn.BLOCKS, (("M", "block2", 32), ("P", "block4", 32))),
        Backbone(
            "mobilenetv2",
            mobilenetv2.build,
            mobilenetv2.BLOCKS,
            (("M", "block4_4", 32), ("P", "block7_1", 64)),
        ),
    )
}


def load_backbone(name: str) -> Backbone:
    """One of ours, or a user's own: module:function, or a .keras file."""
    if name in BACKBONES:
        return BACKBONES[name]
    if own.names_one(name):
        return Backbone(name, own.builder(name))
    raise UsageError(
        f"unknown backbone '{name}'", suggestion(name, (*BACKBONES, "module:function"))
    )


def default_backbone(input_shape: tuple[int, int, int]) -> str:
    """The one of ours that was made for inputs of this size."""
    if input_shape == _LOG_MEL:
        return "dscnn"
    limits = ((16, "dscnn-digits"), (28, "cnn-mnist"), (48, "resnet8"))
    side = max(input_shape[:2])
    return next((name for limit, name in limits if side <= limit), "mobilenetv2")
