"""fixedpoint == C on the host == C on an emulated Cortex-M4 and Cortex-M7.

Each platform starts its runner once for all cases; each case is a test of its own.
"""

from functools import cache

import numpy as np
import pytest

from .c_runner import KERNELS, Host, Platform, Qemu, Vectors, missing_tools, run
from .cases import C_CASES, EnergyOf, Residual

IDS = [f"{case.kernel}-{case.name}" for case in C_CASES]
every_case = pytest.mark.parametrize("index", range(len(C_CASES)), ids=IDS)


@cache
def vectors() -> list[Vectors]:
    return [case.vectors() for case in C_CASES]


def results(platform: Platform, folders: pytest.TempPathFactory) -> list[bytes]:
    if missing := missing_tools(platform):
        pytest.skip(f"needs {' and '.join(missing)}")
    return run(platform, folders.mktemp("runner"), vectors())


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    return results(Host(), tmp_path_factory)


@pytest.fixture(scope="module")
def cortex_m4(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    return results(Qemu("Cortex-M4F", "mps2-an386"), tmp_path_factory)


@pytest.fixture(scope="module")
def cortex_m7(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    return results(Qemu("Cortex-M7", "mps2-an500"), tmp_path_factory)


def check(index: int, outputs: list[bytes]) -> None:
    expected = vectors()[index].expected
    actual = np.frombuffer(outputs[index], expected.dtype).reshape(expected.shape)
    np.testing.assert_array_equal(actual, expected)


@every_case
def test_numpy_equals_c_on_host(index: int, host: list[bytes]) -> None:
    check(index, host)


@every_case
def test_numpy_equals_c_on_cortex_m4(index: int, cortex_m4: list[bytes]) -> None:
    check(index, cortex_m4)


@every_case
def test_numpy_equals_c_on_cortex_m7(index: int, cortex_m7: list[bytes]) -> None:
    check(index, cortex_m7)


def test_every_kernel_has_cases() -> None:
    assert {case.kernel for case in C_CASES} == set(KERNELS)


@pytest.mark.parametrize(
    "case", [c for c in C_CASES if isinstance(c, Residual)], ids=lambda case: case.name
)
def test_residuals_differ_and_reach_their_limit_where_they_are_to(case: Residual) -> None:
    """A case that saturates for every input would hide what it is there to show."""
    u_q12 = case.expected()[:, : case.components * case.channels]
    assert len(np.unique(u_q12)) > 10
    assert (np.abs(u_q12).max() >= 2**25) == (case.name == "saturates")


@pytest.mark.parametrize(
    "case",
    [c for c in C_CASES if isinstance(c, EnergyOf)],
    ids=lambda case: f"{case.kernel}-{case.name}",
)
def test_energies_differ_and_grow_to_their_limit(case: EnergyOf) -> None:
    energies = case.vectors().expected
    assert energies[0] == 0  # residuals of zero
    assert energies[1] == energies[2] == energies.max()
    assert len(set(energies[3:])) > 10
