import pytest
from serial.tools import list_ports
from serial.tools.list_ports_common import ListPortInfo

from snapcli.device import candidates, find_port
from snapcli.errors import DeviceError, UsageError


def port(device, vid=None, pid=None, serial_number=None):
    found = ListPortInfo(device)
    found.vid, found.pid, found.serial_number = vid, pid, serial_number
    return found


@pytest.fixture
def plugged(monkeypatch):
    found = []
    monkeypatch.setattr(list_ports, "comports", lambda: found)
    return found


def test_boards_are_known_by_their_probe(plugged):
    plugged += [
        port("/dev/ttyUSB0", 0x10C4, 0xEA60, ""),
        port("/dev/ttyACM1", 0x0483, 0x374E, "66EE"),
        port("/dev/ttyACM0", 0x0483, 0x374B, "0672"),
        port("/dev/ttyS0"),
    ]
    found = candidates()
    assert [(c.device, c.board, c.serial_number) for c in found] == [
        ("/dev/ttyACM0", "ST-LINK/V2-1", "0672"),
        ("/dev/ttyACM1", "STLINK-V3", "66EE"),
        ("/dev/ttyUSB0", None, None),
    ]
    assert str(found[0]) == "/dev/ttyACM0 (0483:374b, ST-LINK/V2-1)"


def test_the_only_port_is_found(plugged):
    plugged += [port("/dev/ttyS0"), port("/dev/ttyACM3", 0x0483, 0x3753)]
    assert find_port(None) == "/dev/ttyACM3"


def test_a_port_that_is_named_is_taken_as_it_is(plugged):
    plugged += [port("/dev/ttyACM3", 0x0483, 0x3753)]
    assert find_port("/dev/pts/7") == "/dev/pts/7"


def test_several_ports_are_the_user_s_choice(plugged):
    plugged += [port("/dev/ttyACM0", 0x0483, 0x374B), port("/dev/ttyUSB0", 0x10C4, 0xEA60)]
    with pytest.raises(UsageError) as caught:
        find_port(None)
    assert "/dev/ttyACM0 (0483:374b, ST-LINK/V2-1)" in caught.value.message
    assert "/dev/ttyUSB0 (10c4:ea60)" in caught.value.message
    assert "--port" in caught.value.hint


def test_no_port_is_an_error_that_says_what_to_do(plugged):
    with pytest.raises(DeviceError, match="no serial port") as caught:
        find_port(None)
    assert "--port" in caught.value.hint
