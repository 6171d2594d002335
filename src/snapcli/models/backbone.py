"""What a backbone is, how one is found by name, and how its taps are named."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from snapcli.config import MAX_TAPS, TrainOptions
from snapcli.errors import UsageError, suggestion
from snapcli.models import cnn, dscnn, mobilenetv2, own, resnet8

LETTERS = ("E", "M", "M1", "M2", "P")
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

    blocks: in the order of depth, each predicted from the one before. inner: further outputs that
    lie inside of a block; they, too, are predicted from the block before. letters are the paper's
    names for depths (E: early, M, M1, M2: mid, P: penultimate). A user's own backbone has none
    of these: its taps are pairs of layers, a:b. rank: of a tap if nobody says otherwise.
    """

    name: str
    build: Callable[[tuple[int, int, int], int], Any]
    blocks: tuple[str, ...] = ()
    letters: Mapping[str, str] = field(default_factory=dict)
    rank: int = 32
    inner: Mapping[str, str] = field(default_factory=dict)

    @property
    def outputs(self) -> tuple[str, ...]:
        """All that can be looked at, in the order of depth."""
        lies_in = {block: inner for inner, block in self.inner.items()}
        return tuple(name for block in self.blocks for name in (lies_in.get(block), block) if name)

    def taps(self, names: tuple[str, ...], ranks: tuple[int, ...] = ()) -> tuple[Tap, ...]:
        """Taps by letter, by block or as a pair of layers; blocks in the order of depth. ranks:
        one for each name, one for all, or none: the backbone's."""
        if not names:
            raise UsageError(f"no tap of {self.name} given", self._how())
        if len(ranks) not in (0, 1, len(names)):
            raise UsageError(
                f"{len(ranks)} ranks for {len(names)} taps", "Give one for all, or one for each."
            )
        given = ranks if len(ranks) == len(names) else (ranks or (self.rank,)) * len(names)
        pairs = [self._pair(name) for name in names]
        chosen = list(dict.fromkeys(Tap(*p, rank) for p, rank in zip(pairs, given, strict=True)))
        if len(chosen) > MAX_TAPS:
            raise UsageError(f"{len(chosen)} taps", f"A monitor has at most {MAX_TAPS}.")
        for after, count in Counter(tap.after for tap in chosen).items():
            if count > 1:
                raise UsageError(f"{count} taps predict '{after}'", "Keep one of them.")
        depth = {block: i for i, block in enumerate(self.outputs)}
        return tuple(sorted(chosen, key=lambda tap: depth.get(tap.after, 0)))

    def _how(self) -> str:
        if self.blocks:
            return "Use for example --taps M,P."
        return "Name the layers on both sides of it: --taps layer_a:layer_b"

    def candidates(self, names: tuple[str, ...], ranks: tuple[int, ...]) -> tuple[Tap, ...]:
        """A tap at every block and inner output, with the rank of the named one or the largest of
        theirs; of a user's own backbone, the named ones."""
        named = self.taps(names, ranks)
        if not self.blocks:
            return named
        rank_of, largest = {t.after: t.rank for t in named}, max(t.rank for t in named)
        return tuple(
            Tap(*self._pair(name), rank_of.get(name, largest)) for name in self.outputs[1:]
        )

    def _pair(self, name: str) -> tuple[str, str]:
        """The blocks before and after a tap."""
        before, colon, after = name.partition(":")
        if colon and before and after:
            if self.blocks:
                self._check(before, self.outputs)
                self._check(after, self.outputs)
                own.check_order(before, after, self.outputs, self.name)
            return before, after
        if not self.blocks:
            raise UsageError(f"'{name}' names no tap of {self.name}", self._how())
        block = self.letters.get(name, name)
        self._check(block, self.outputs[1:])
        return self.blocks[self.blocks.index(self.inner.get(block, block)) - 1], block

    def _check(self, block: str, allowed: tuple[str, ...]) -> None:
        if block in allowed:
            return
        if block in LETTERS:
            raise UsageError(
                f"{self.name} has no tap {block}", f"Its letters: {', '.join(self.letters)}."
            )
        raise UsageError(
            f"'{block}' is not a block of {self.name} that can be tapped",
            suggestion(block, (*self.letters, *allowed)),
        )


_DSCNN = {"E": "block1", "M": "block2", "M1": "block2", "M2": "block3", "P": "block4"}
_CNN = {"E": "block1", "M": "block2", "M1": "block2", "P": "block3"}
_RESNET8 = {"E": "stage1", "M": "stage2", "M1": "stage2", "M2": "stage3_inner", "P": "stage3"}
_MOBILENETV2 = {
    "E": "block2_2",
    "M1": "block3_3",
    "M": "block4_4",
    "M2": "block5_3",
    "P": "block7_1",
}
BACKBONES = {
    backbone.name: backbone
    for backbone in (
        Backbone("dscnn-digits", dscnn.build_digits, dscnn.BLOCKS, _DSCNN, rank=16),
        Backbone("cnn-mnist", cnn.build_mnist, cnn.BLOCKS, _CNN, rank=16),
        Backbone("resnet8", resnet8.build, resnet8.BLOCKS, _RESNET8, rank=32, inner=resnet8.INNER),
        Backbone("dscnn", dscnn.build, dscnn.BLOCKS, _DSCNN, rank=32),
        Backbone("mobilenetv2", mobilenetv2.build, mobilenetv2.BLOCKS, _MOBILENETV2, rank=64),
    )
}


def load_backbone(name: str) -> Backbone:
    """One of ours, or a user's own: module:function, or a .keras file, whose code may run only if
    it is allowed."""
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


def with_default_taps(options: TrainOptions) -> TrainOptions:
    """Taps and ranks that were not given: minimal has one tap in front of the logits."""
    if options.head == "minimal":
        if len(options.taps) > 1:
            raise UsageError(
                f"minimal has one tap, not {len(options.taps)}",
                "Leave --taps out, or choose --head gaussian.",
            )
        return replace(options, taps=options.taps or ("P",), ranks=options.ranks or (32,))
    return replace(options, taps=options.taps or ("M", "P"))
