"""snap ports, with ptys that call themselves boards."""

import os
from collections.abc import Iterator

import pytest
from serial.tools import list_ports
from serial.tools.list_ports_common import ListPortInfo

from snapcli.device import open_port
from tests.conftest import snap


@pytest.fixture
def plugged(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Paths of an ST-LINK's port and of an adapter's."""
    ends = [os.openpty() for _ in range(2)]
    paths = [os.ttyname(slave) for _, slave in ends]
    found = []
    for path, vid, pid in zip(paths, (0x0483, 0x1A86), (0x374B, 0x7523), strict=True):
        port = ListPortInfo(path)
        port.vid, port.pid, port.description, port.serial_number = vid, pid, "a port", "0672FF"
        found.append(port)
    monkeypatch.setattr(list_ports, "comports", lambda: found)
    yield paths
    for pair in ends:
        for end in pair:
            os.close(end)


def test_boards_adapters_and_who_holds_them(plugged: list[str]) -> None:
    with open_port(plugged[1]):
        outcome = snap("ports")
    assert (outcome.code, outcome.err) == (0, "")
    board, adapter = (
        next(line for line in outcome.out.splitlines() if f" {path} " in line) for path in plugged
    )
    assert "0483:374b" in board
    assert "ST-LINK/V2-1" in board
    assert "free" in board
    assert "1a86:7523" in adapter
    assert "busy" in adapter
    assert "Close that program" in outcome.out


def test_as_json(plugged: list[str]) -> None:
    with open_port(plugged[1]):
        found = snap("ports", "--json").json
    found.sort(key=lambda view: plugged.index(view["port"]["device"]))
    assert [view["state"] for view in found] == ["free", "busy"]
    assert found[0]["port"]["vid"] == 0x0483
    assert [view["port"]["board"] for view in found] == ["ST-LINK/V2-1", None]


def test_nothing_plugged_in_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_ports, "comports", lambda: [ListPortInfo("/dev/ttyS0")])
    outcome = snap("ports")
    assert (outcome.code, outcome.err) == (0, "")
    assert "plug a board in" in outcome.out
    assert snap("ports", "--json").json == []
