"""The link from end to end: the host's client and the firmware, which runs as a process here."""

import os
import random
import signal
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from snapcli.device import Client, LinkError, Reason
from tests.conftest import need
from tests.unit.device import damage_trial
from tests.unit.device.damage_trial import LATE, REPEATED, RIGHT, WRONG, stream, trial
from tests.unit.device.line import Line
from tests.unit.firmware import tiny_model
from tests.unit.firmware.running import running

PATTERNS, DEVICES = 150, 10
PATIENCE_S = 60.0
INPUTS = [random.Random(i).randbytes(tiny_model.INPUT_BYTES) for i in range(20)]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need(host=True)
    return tiny_model.build(tmp_path_factory.mktemp("link") / "firmware")


def answers(client: Client, inputs: list[bytes]) -> list[object]:
    return [replace(client.infer(data), count=0) for data in inputs]


def test_whatever_happens_on_the_line_an_answer_is_right_or_an_error(program: Path) -> None:
    """A few of the patterns of `make damage`."""

    def some(first: int) -> list[damage_trial.Trial]:
        with running(program) as device:
            return [
                trial(device.console.path, seed, timeout_s=0.2)
                for seed in range(first, PATTERNS, DEVICES)
            ]

    with ThreadPoolExecutor(DEVICES) as pool:
        trials = [found for part in pool.map(some, range(DEVICES)) for found in part]
    assert len(trials) == PATTERNS
    assert [found for found in trials if found.outcome in (WRONG, LATE)] == []
    outcomes = Counter(found.outcome for found in trials)
    assert outcomes[RIGHT] + outcomes[REPEATED] > PATTERNS / 2
    assert outcomes[REPEATED] > PATTERNS / 10


def test_the_trial_would_notice_a_wrong_number(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = damage_trial.stream

    def off_by_one(inputs: list[bytes]) -> list[object]:
        *first, last = right(inputs)
        return [*first, replace(last, threshold_q24=last.threshold_q24 + 1)]

    monkeypatch.setattr(damage_trial, "stream", off_by_one)
    monkeypatch.setattr(damage_trial, "random_damage", lambda *_, **__: [])
    with running(program) as device:
        assert trial(device.console.path, 1, timeout_s=PATIENCE_S).outcome == WRONG


def test_a_rate_that_the_cable_does_not_carry_is_left(program: Path) -> None:
    with (
        running(program) as device,
        Line(device.console.path, baud_limit=230400) as line,
        Client(line.path, timeout_s=1.0) as client,
    ):
        assert client.speed_up((921600, 230400)) == 230400
        client.start()
        assert answers(client, INPUTS) == stream(INPUTS)
        assert client.text("name") == ["m-name-dut-[snap host]"]


def test_a_restart_at_a_higher_rate(program: Path) -> None:
    with (
        running(program) as device,
        Line(device.console.path, baud_limit=921600) as line,
        Client(line.path, timeout_s=1.0) as client,
    ):
        assert client.speed_up() == 921600
        client.start()
        found = answers(client, INPUTS[:8])
        client.restart()
        assert client.baud == 921600
        assert found + answers(client, INPUTS[8:]) == stream(INPUTS)
        assert client.restarts == 1


def test_a_fault_is_told_and_the_stream_goes_on_behind_it(program: Path) -> None:
    with running(program) as device, Client(device.console.path) as client:
        client.start()
        found = answers(client, INPUTS[:8])
        os.kill(device.process.pid, signal.SIGUSR1)

        def ask_on() -> None:
            until = time.monotonic() + PATIENCE_S
            while time.monotonic() < until:  # it looks when it is idle
                client.stack()

        with pytest.raises(LinkError, match=r"hard fault .* at address 0xdeadbeec") as caught:
            ask_on()
        assert caught.value.reason is Reason.FAULT
        assert "addr2line" in caught.value.hint
        assert found + answers(client, INPUTS[8:]) == stream(INPUTS)
        assert client.restarts == 1


def test_a_stream_survives_the_cable(program: Path, tmp_path: Path) -> None:
    port = tmp_path / "board"
    with running(program) as second:
        with running(program) as first:
            port.symlink_to(first.console.path)
            client = Client(str(port), timeout_s=PATIENCE_S, reconnect_s=PATIENCE_S)
            client.start()
            found = answers(client, INPUTS[:8])
            port.unlink()
        threading.Timer(0.3, port.symlink_to, [second.console.path]).start()
        with client:
            found += answers(client, INPUTS[8:])
    assert found == stream(INPUTS)


def test_settings_end_a_stream(program: Path) -> None:
    with running(program) as device, Client(device.console.path) as client:
        client.start()
        own = client.hello().own_settings_check
        block = tiny_model.OTHER.pack(replaces=own)
        assert client.push_settings(block) == tiny_model.OTHER.check
        assert client.hello().settings_check == tiny_model.OTHER.check
        with pytest.raises(LinkError, match="no stream"):
            client.infer(INPUTS[0])
        client.start()
        answer = client.infer(INPUTS[0])
        assert (
            answer.uncertainty_q16
            == tiny_model.expected(INPUTS[0], tiny_model.OTHER).uncertainty_q16
        )
        with pytest.raises(LinkError, match="not for its image"):
            client.push_settings(block[:-1] + bytes([block[-1] ^ 1]))


def test_a_damaged_image_computes_nothing(program: Path) -> None:
    with running(program, "--damaged") as device, Client(device.console.path) as client:
        assert client.hello().is_damaged
        check = client.check()
        assert check.linked_crc != check.computed_crc
        client.start()
        for ask in (client.infer, client.profile):
            with pytest.raises(LinkError, match="does not hold what was written"):
                ask(INPUTS[0])
