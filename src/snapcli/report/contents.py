"""What a page is made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Json = Mapping[str, Any]


@dataclass(frozen=True)
class BufferPlace:
    """A buffer: bytes offset to offset + size of the arena, in steps first to last."""

    name: str
    size_bytes: int
    offset: int
    first: int
    last: int


@dataclass(frozen=True)
class Arena:
    """kernels: whose plan it is."""

    kernels: str
    arena_bytes: int
    steps: tuple[str, ...]
    buffers: tuple[BufferPlace, ...]


@dataclass(frozen=True)
class DeviceStream:
    """What a device answered: score and threshold of every frame, thinned (largest of each
    group), and whether it abstained anywhere in the group. report: as stored beside it."""

    report: Json
    score: tuple[float, ...]
    threshold: tuple[float, ...]
    abstained: tuple[bool, ...]


@dataclass(frozen=True)
class StageRecord:
    """A stage as the manifest has it. state: done, or what is wrong with it. tools: {name:
    {version, flags}}."""

    stage: str
    state: str
    command: str
    seed: int | None
    versions: Mapping[str, str]
    outputs: Mapping[str, str]
    tools: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True)
class Contents:
    """Parsed JSON as the stages store it, None or empty where there is none or it is stale; by
    target where there may be several. detection: of quantize or calibrate, without intervals.
    missing: {stage: a sentence with the command that makes it}, of every one that is not there.
    recipe: the text of config.toml."""

    run: str
    model: str
    dataset: str
    missing: Mapping[str, str]
    evaluation: Json | None = None
    cost: Json | None = None
    taps: Json | None = None
    detection: Json | None = None
    sizes: Mapping[str, Json] = field(default_factory=dict)
    benches: Mapping[str, Json] = field(default_factory=dict)
    arenas: Mapping[str, Arena] = field(default_factory=dict)
    streams: Mapping[str, DeviceStream] = field(default_factory=dict)
    ablations: Sequence[Json] = ()
    made: Sequence[StageRecord] = ()
    recipe: str = ""

    @property
    def is_exact(self) -> bool:
        """Whether a device was asked, and every answer was that of the integer reference."""
        benches = self.benches.values()
        return bool(benches) and all(b["bit_exact"] == b["inputs"] for b in benches)

    def lack(self, kind: str) -> str:
        """Why nothing of a kind of stage is there."""
        reasons = (words for stage, words in self.missing.items() if stage.split("/")[0] == kind)
        return next(reasons, "")
