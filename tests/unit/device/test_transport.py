import errno
import os

import pytest
import serial

from snapcli.device import open_port
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
    with pytest.raises(DeviceError, match="cannot be opened"):
        open_port(str(tmp_path / "file"))
