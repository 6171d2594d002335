"""firmware/test/tiny_model in Python: what the application around it has to answer."""

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from snapcli import fixedpoint as fx
from snapcli import toolchain
from snapcli.device import Inference, Watch

FIRMWARE = toolchain.firmware_dir()
FOLDER = FIRMWARE / "test" / "tiny_model"
_KERNELS = ("budget_q24", "score_q16", "probability_q16", "exp_q16", "argmax_s8", "mark")
_KERNELS += ("alarm", "crc32", "evidence", "ln_q16", "telemetry")

MODEL_ID = "0123456789abcdef"
INPUT_BYTES, ARENA_BYTES, CLASSES, TAPS, STEPS = 16, 64, 10, 2, 4
RECEIVE_BYTES = 2048
LOGIT_SCALE = 0.025
ONE_Q16, ONE_Q24 = 1 << 16, 1 << 24
CONTROLLER = fx.Budget(ONE_Q24 // 4, ONE_Q24 // 5, ONE_Q24 // 10, 40000 << 8)
_LAYOUT = 0x796E6974
ALARM = fx.Alarm(
    detector=fx.ALARM_SUM,
    edge_q16=np.arange(1, 16, dtype=np.uint32) * 4096,
    gain_q16=(np.arange(16, dtype=np.int32) - 7) * 8192,
    threshold_q16=2 * ONE_Q16,
    clear_q16=0,
    start_q16=0,
    offset_q16=0,
    limit_q16=ONE_Q16 // 2,
    baseline=8,
    confidence_q16=ONE_Q16,
)


def sources() -> tuple[list[Path], list[Path]]:
    """(C files, include folders) of the model and what it needs."""
    kernels = FIRMWARE / "snapuq"
    files = [kernels / "src" / f"snapuq_{name}.c" for name in _KERNELS]
    return [FOLDER / "snap_model.c", *files], [FOLDER, kernels / "include"]


def build(program: Path, *defines: str, sanitize: bool = True) -> Path:
    """The application with this model as a process of this machine."""
    files, include_dirs = sources()
    return toolchain.build_host_firmware(files, include_dirs, program, sanitize, defines)


@dataclass(frozen=True)
class Settings:
    """The settings block; the defaults are those that the image carries."""

    threshold_q16: int = 40000
    controller: fx.Budget | None = CONTROLLER
    weight_q16: tuple[int, int] = (ONE_Q16, 0)
    b0_q16: int = 0
    b1_q16: int = ONE_Q16
    foreign_threshold_q16: int = 60000
    model_id: str = MODEL_ID
    layout: int = _LAYOUT

    def pack(self, replaces: int = 0) -> bytes:
        c = self.controller
        numbers = (c.budget_q24, c.eta_q24, c.kappa_q24, c.threshold_q24) if c else (0, 0, 0, 0)
        body = bytes.fromhex(self.model_id) + struct.pack(
            "<III4iI2I3iI",
            *(self.layout, self.threshold_q16, int(c is not None), *numbers, 0),
            *(*self.weight_q16, self.b0_q16, self.b1_q16, 0),
            self.foreign_threshold_q16,
        )
        return struct.pack("<4sIII", b"SNPS", 16 + len(body), zlib.crc32(body), replaces) + body

    @property
    def check(self) -> int:
        return int.from_bytes(self.pack()[8:12], "little")

    def start(self) -> tuple[int, int]:
        """rate_q24, threshold_q24 of a new stream."""
        if self.controller:
            return 0, self.controller.threshold_q24
        return 0, min(self.threshold_q16 << 8, ONE_Q24)


NO_WATCH = Watch(0, 0, 0, 0, 0, 0, 0, False, 0, bytes(32))
OWN = Settings()
OTHER = Settings(threshold_q16=20000, controller=None, weight_q16=(30000, 35536), b0_q16=-900)


def expected(data: bytes, settings: Settings = OWN) -> Inference:
    """What one input gives beside any stream; count, rate and threshold are 0, and so is what an
    alarm remembers."""
    total = sum(data)
    surprisal = np.array([[16 * total, ONE_Q16 - 16 * total]], np.uint32)
    score = int(fx.score_q16(surprisal, np.array(settings.weight_q16, np.uint32))[0])
    uncertainty = min(max(settings.b0_q16 + ((settings.b1_q16 * score) >> 16), 0), ONE_Q16)
    return Inference(
        predicted=total % CLASSES,
        abstain=uncertainty >= settings.threshold_q16,
        score_q16=score,
        uncertainty_q16=uncertainty,
        foreign=ONE_Q16 - uncertainty >= settings.foreign_threshold_q16,
        foreign_q16=ONE_Q16 - uncertainty,
        count=0,
        rate_q24=0,
        threshold_q24=0,
        watch=NO_WATCH,
        surprisal_q16=(16 * total, ONE_Q16 - 16 * total),
        logits=tuple(60 if k == total % CLASSES else -10 * k for k in range(CLASSES)),
    )


def watched(inputs: Sequence[bytes]) -> list[Watch]:
    """What the alarm remembers behind each input of a stream. It is a sum: its window is empty."""
    state, watches = fx.alarm_start(ALARM), []
    for data in inputs:
        u = np.array([expected(data).uncertainty_q16], np.uint32)
        fx.alarm_step(ALARM, state, u, u)
        numbers = {k: v[0].item() for k, v in vars(state).items() if k != "window"}
        watches.append(Watch(**numbers, window=bytes(32)))
    return watches


def alone(answer: Inference) -> Inference:
    """Without what its stream has added."""
    return replace(answer, count=0, rate_q24=0, threshold_q24=0, watch=NO_WATCH)


def probabilities(logits: Sequence[int]) -> list[float]:
    """What `results%` tells: three decimals."""
    step = fx.probability_step_q24(LOGIT_SCALE)
    q16 = fx.probability_q16(np.array([logits], np.int8), step)[0]
    return [((1000 * int(p) + 32768) >> 16) / 1000 for p in q16]
