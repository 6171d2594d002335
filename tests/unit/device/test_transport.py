import errno
import os

import pytest
import serial
from serial.tools import list_ports
from serial.tools.list_ports_common import ListPortInfo

from snapcli.device import Link, LinkError, Reason, open_port
from snapcli.errors import DeviceError


@pytest.fixture
def pty_path():
    master, slave = os.openpty()
    yield os.ttyname(slave)
    os.close(master)
    os.close(slave)


def test_opens_a_pty(pty_path):
    with open_port(pty_path) as port:
        assert port.baudrate == 115200


def test_a_missing_port_does_not_exist(tmp_path):
    with pytest.raises(DeviceError, match="does not exist") as caught:
        open_port(str(tmp_path / "ttyACM0"))
    assert caught.value.hint


def test_a_port_that_is_open_already_is_busy(pty_path):
    with open_port(pty_path), pytest.raises(DeviceError, match="busy"):
        open_port(pty_path)


def test_a_port_is_free_again_after_it_was_closed(pty_path):
    open_port(pty_path).close()
    open_port(pty_path).close()


def test_no_permission_names_the_group(pty_path, monkeypatch):
    def refuse(path, *_):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)

    monkeypatch.setattr(serial.serialposix.os, "open", refuse)
    with pytest.raises(DeviceError, match="No permission") as caught:
        open_port(pty_path)
    assert "usermod -aG dialout" in caught.value.hint
    assert "log in again" in caught.value.hint


def test_a_file_is_no_port(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file"):
        with pytest.raises(DeviceError, match="is not a serial port"):
            open_port(str(path))


def usb(device, serial_number, vid=0x0483, pid=0x374B):
    port = ListPortInfo(device)
    port.vid, port.pid, port.serial_number = vid, pid, serial_number
    return port


def test_a_port_is_found_again_under_another_path_by_its_usb_number(monkeypatch):
    first, second, other = (os.openpty() for _ in range(3))
    plugged = [usb(os.ttyname(other[1]), "B2"), usb(os.ttyname(first[1]), "A1")]
    monkeypatch.setattr(list_ports, "comports", lambda: plugged)
    link = Link(os.ttyname(first[1]))
    for end in first:
        os.close(end)
    with pytest.raises(LinkError, match="went away"):
        link.read(0.1)
    plugged[1] = usb(os.ttyname(second[1]), "A1")
    link.reopen(within_s=60.0)
    assert link.path == os.ttyname(second[1])
    os.write(second[0], b"!")
    assert link.read(60.0) == b"!"
    link.close()
    for end in (*second, *other):
        os.close(end)


def test_a_port_without_a_usb_number_is_not_mistaken_for_another(monkeypatch):
    first, other = os.openpty(), os.openpty()
    monkeypatch.setattr(list_ports, "comports", lambda: [usb(os.ttyname(other[1]), "B2")])
    link = Link(os.ttyname(first[1]))
    for end in first:
        os.close(end)
    with pytest.raises(LinkError, match="not back within"):
        link.reopen(within_s=0.2)
    for end in other:
        os.close(end)


def test_reading_and_speeds_of_a_port_that_is_gone_say_so():
    master, slave = os.openpty()
    link = Link(os.ttyname(slave))
    os.close(slave)
    os.close(master)
    for use in (
        lambda: link.read(0.0),
        lambda: link.write(b"x"),
        lambda: link.drop_input(0.0, 0.1),
        lambda: setattr(link, "baud", 230400),
    ):
        with pytest.raises(LinkError) as caught:
            use()
        assert caught.value.reason is Reason.GONE
    link.close()
