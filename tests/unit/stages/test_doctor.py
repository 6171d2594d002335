"""doctor: what is optional does not make snap ill."""

import pytest

from snapcli.stages import doctor


def test_arms_kernels_are_optional(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = doctor.doctor()
    monkeypatch.setattr(doctor, "cached_cmsis_nn", lambda: None)
    report = doctor.doctor()
    (check,) = [c for c in report.checks if c.name == "cmsis-nn"]
    assert (check.version, check.remedy) == (None, "snap kernels fetch")
    assert report.missing == whole.missing


def test_a_missing_tool_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    report = doctor.doctor()
    assert report.missing
    assert {"cc", "arm-none-eabi-gcc", "qemu-system-arm"} <= {
        check.name for check in report.checks if check.version is None
    }
