"""What a page is made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from snapcli.results.ablate import AblateTable
from snapcli.results.alarm import AlarmReport
from snapcli.results.bench import BenchReport
from snapcli.results.calibrate import Figures
from snapcli.results.cost import CostReport
from snapcli.results.eval import EvalReport
from snapcli.results.flash import FlashReport
from snapcli.results.stream import StreamReport
from snapcli.results.taps import TapsReport


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
    group), and whether it abstained anywhere in the group. alarm: of the device, None without one.
    report: as stored beside it."""

    report: StreamReport
    score: tuple[float, ...]
    threshold: tuple[float, ...]
    abstained: tuple[bool, ...]
    alarm: "PlayedAlarm | None" = None


@dataclass(frozen=True)
class PlayedAlarm:
    """statistic: nats, thinned likewise; on: anywhere in the group."""

    statistic: tuple[float, ...]
    threshold: float
    on: tuple[bool, ...]


@dataclass(frozen=True)
class ToolRecord:
    """flags: each as one call was given them."""

    version: str
    flags: Sequence[str]


@dataclass(frozen=True)
class StageRecord:
    """A stage as the manifest has it. state: done, or what is wrong with it."""

    stage: str
    state: str
    command: str
    seed: int | None
    versions: Mapping[str, str]
    outputs: Mapping[str, str]
    tools: Mapping[str, ToolRecord] = field(default_factory=dict)


@dataclass(frozen=True)
class Contents:
    """The reports of a run, None or empty where there is none or it is stale; by target where
    there may be several. figures: of the integers, as quantize or calibrate left them, without
    intervals. without_heads: the command that calibrates again without heads. missing: {stage: a
    sentence with the command that makes it}, of every one that is not there. recipe: the text of
    config.toml."""

    run: str
    model: str
    dataset: str
    missing: Mapping[str, str]
    evaluation: EvalReport | None = None
    cost: CostReport | None = None
    taps: TapsReport | None = None
    figures: Figures | None = None
    without_heads: str = ""
    sizes: Mapping[str, FlashReport] = field(default_factory=dict)
    benches: Mapping[str, BenchReport] = field(default_factory=dict)
    arenas: Mapping[str, Arena] = field(default_factory=dict)
    alarm: AlarmReport | None = None
    streams: Mapping[str, DeviceStream] = field(default_factory=dict)
    ablations: Sequence[AblateTable] = ()
    made: Sequence[StageRecord] = ()
    recipe: str = ""

    @property
    def is_exact(self) -> bool:
        """Whether a device was asked, and every answer was that of the integer reference."""
        benches = self.benches.values()
        return bool(benches) and all(b.bit_exact == b.inputs for b in benches)

    @property
    def has_idle_heads(self) -> bool:
        return self.figures is not None and self.figures.heads.idle

    def lack(self, kind: str) -> str:
        """Why nothing of a kind of stage is there."""
        reasons = (words for stage, words in self.missing.items() if stage.split("/")[0] == kind)
        return next(reasons, "")
