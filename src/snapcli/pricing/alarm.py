"""What a frame of an alarm costs, counted on the emulated twin of a target."""

import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from snapcli import fixedpoint as fx
from snapcli import toolchain
from snapcli.emit.alarm_counter import COUNT, VALUES, emit_alarm_counter
from snapcli.errors import ToolchainError, UsageError
from snapcli.targets import Target, emulated_twin

STATE_BYTES = 60
_FRAMES = 2048


def instructions_or_none(alarm: fx.Alarm, values: NDArray[np.uint32], target: Target) -> int | None:
    """Of a step behind the baseline, mean over frames drawn from these; None on a machine or for a
    core that cannot be measured."""
    try:
        return _instructions(alarm, values, emulated_twin(target))
    except (ToolchainError, UsageError):
        return None


def _instructions(alarm: fx.Alarm, values: NDArray[np.uint32], twin: Target) -> int:
    frames = np.random.default_rng(0).choice(values, _FRAMES)
    firmware = toolchain.firmware_dir() / "snapuq"
    with tempfile.TemporaryDirectory(prefix="snap-alarm-") as name:
        folder = Path(name)
        main = folder / "main.c"
        main.write_text(emit_alarm_counter(alarm, STATE_BYTES, _FRAMES))
        (folder / VALUES).write_bytes(frames.astype("<u4").tobytes())
        kernels = [f"snapuq_{kernel}.c" for kernel in ("alarm", "exp_q16", "ln_q16")]
        sources = [main, *(firmware / "src" / kernel for kernel in kernels)]
        command = toolchain.build_semihosted(
            twin, sources, [firmware / "include"], folder, counted=True
        )
        toolchain.run_program(command, folder)
        return round(int.from_bytes((folder / COUNT).read_bytes(), "little") / _FRAMES)
