"""A compiler that fuses multiply and add changes bits of the low-rank energy, but not more."""

import platform
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from .c_runner import Host, missing_tools, run
from .cases import C_CASES, EnergyOf

CASES = [c for c in C_CASES if isinstance(c, EnergyOf) and c.kernel == "energy_lowrank_f32"]


@dataclass(frozen=True)
class Fusing(Host):
    compiler = ("cc", "-O2", "-ffp-contract=fast")


@dataclass(frozen=True)
class FusingX86(Host):
    compiler = ("cc", "-O2", "-ffp-contract=fast", "-mfma")


def fusing() -> Host:
    if missing := missing_tools(Host()):
        pytest.skip(f"needs {' and '.join(missing)}")
    if platform.machine() not in ("x86_64", "AMD64"):
        return Fusing()
    flags = Path("/proc/cpuinfo")
    if not flags.is_file() or " fma " not in flags.read_text():
        pytest.skip("this processor has no fused multiply-add")
    return FusingX86()


def test_fused_energies_stay_within_the_stated_tolerance(tmp_path: Path) -> None:
    outputs = run(fusing(), tmp_path, [case.vectors() for case in CASES])
    same = []
    for case, output in zip(CASES, outputs, strict=True):
        exact = case.vectors().expected.astype(np.int64)
        fused = np.frombuffer(output, np.uint32).astype(np.int64)
        gaussian = np.mean((case.draw()[1].u_q12 / 4096) ** 2, axis=-1)
        limit = 2.0**-9 * gaussian + 2.0**-15  # SPEC 1.3
        assert np.all(np.abs(fused - exact) / 65536 <= limit), case.name
        same.append(np.array_equal(fused, exact))
    assert not all(same)  # or nothing was fused
