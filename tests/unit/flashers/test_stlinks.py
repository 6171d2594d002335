"""ST-LINKs on the USB."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from snapcli.flashers import only_port, port_of, stlinks
from snapcli.stages.doctor import doctor


def port(device: str, serial: str | None, pid: int = 0x374B, vid: int = 0x0483) -> SimpleNamespace:
    return SimpleNamespace(device=device, serial_number=serial, pid=pid, vid=vid)


@pytest.fixture
def usb(monkeypatch: pytest.MonkeyPatch) -> list[SimpleNamespace]:
    ports: list[SimpleNamespace] = []
    monkeypatch.setattr("serial.tools.list_ports.comports", lambda: ports)
    return ports


def test_only_st_links_count(usb: list[SimpleNamespace]) -> None:
    assert (stlinks(), only_port()) == ([], None)
    usb += [
        port("/dev/ttyACM1", "B", 0x374E),
        port("/dev/ttyUSB0", "C", 0x6001, 0x0403),
        port("/dev/ttyS0", None, None, None),  # type: ignore[arg-type]
        port("/dev/ttyACM0", "A"),
    ]
    assert [(link.serial, link.port) for link in stlinks()] == [
        ("A", "/dev/ttyACM0"),
        ("B", "/dev/ttyACM1"),
    ]
    assert (port_of("b"), port_of("C"), only_port()) == ("/dev/ttyACM1", None, None)
    del usb[0]
    assert only_port() == "/dev/ttyACM0"


def test_doctor_shows_probes_and_what_keeps_the_user_from_them(
    usb: list[SimpleNamespace], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usb.append(port("/dev/ttyACM0", "066BFF"))
    usb[0].usb_device_path = str(tmp_path)
    monkeypatch.setattr("sys.platform", "linux")
    (tmp_path / "busnum").write_text("1\n")
    (tmp_path / "devnum").write_text("999\n")  # no such device file: not writable
    report = doctor()
    (row,) = (check for check in report.checks if check.name == "probes")
    assert row.version == "ST-LINK 066BFF at /dev/ttyACM0"
    assert any("no permission to use the ST-LINK 066BFF" in w for w in report.warnings)
    usb.clear()
    report = doctor()
    (row,) = (check for check in report.checks if check.name == "probes")
    assert (row.version, row.optional) == ("none attached", True)
    assert not any("permission" in w for w in report.warnings)
