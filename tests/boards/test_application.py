"""The unchanged images of `snap flash` on models of their parts, asked by our own client."""

from dataclasses import replace

import pytest

from snapcli.device import Client, LinkError, Reason
from snapcli.monitor.settings import check_of, pack_settings
from snapcli.targets import load_target

from ..unit.tiny_monitor import random_inputs, tiny_monitor
from .board import MODELS, Board, SerialPort
from .test_boards import PAGES


@pytest.fixture(params=sorted(MODELS))
def name(request):
    return request.param


@pytest.fixture
def board(application, name):
    return Board(name, application(name).elf)


@pytest.fixture
def client(board):
    board.exchange()
    return Client(SerialPort(board))


def test_boots_and_speaks_mlperf_tiny(board, name):
    assert board.exchange().decode().splitlines()[-2:] == ["m-init-done", "m-ready"]
    assert board.part.clock.core_hz == load_target(name).clock_hz
    assert board.exchange(b"name%").decode().splitlines() == [
        f"m-name-dut-[snap {name}]",
        "m-ready",
    ]


def test_hello_tells_what_was_built(application, client, name):
    hello, built = client.hello(), application(name)
    assert (hello.target, hello.is_emulator, hello.has_heads) == (name, False, True)
    assert (hello.counter_unit, hello.counter_step) == ("cycles", 1)
    assert hello.counter_hz == load_target(name).clock_hz
    assert not hello.is_damaged
    assert hello.image_crc == built.image_crc
    found = client.check()
    assert found.bytes == built.image_bytes
    assert found.linked_crc == found.computed_crc == built.image_crc


def test_a_stream_is_that_of_the_integer_reference(board, client):
    inputs = random_inputs(10, seed=3)
    expected = tiny_monitor().run(inputs)
    client.start()
    counts = []
    for index, image in enumerate(inputs):
        found = client.infer(image.tobytes())
        counts.append(found.count)
        assert found.predicted == expected.predicted[index]
        assert found.abstain == expected.abstain[index]
        assert found.score_q16 == expected.score_q16[index]
        assert found.uncertainty_q16 == expected.uncertainty_q16[index]
        assert found.foreign == expected.foreign[index]
        assert found.foreign_q16 == expected.foreign_q16[index]
        assert list(found.surprisal_q16) == expected.surprisal_q16[index].tolist()
        assert list(found.logits) == expected.logits[index].tolist()
    edges = board.part.gpio.edges
    assert [level for _, level in edges] == [1, 0] * len(inputs)
    for count, (rise, _), (fall, _) in zip(counts, edges[::2], edges[1::2], strict=True):
        assert 0 <= fall - rise - count < 100


def test_the_golden_vectors_pass_and_steps_add_up(client):
    found = client.selftest()
    assert (found.count, found.first_mismatch) == (2, None)
    profile = client.profile(random_inputs(1)[0].tobytes())
    assert len(profile.step_counts) == client.hello().steps
    assert 0 < sum(profile.step_counts) <= profile.inference.count


def test_settings_are_pushed_and_outlive_a_reset(board, client):
    image, monitor = random_inputs(1)[0].tobytes(), tiny_monitor()
    client.start()
    before = client.infer(image)
    hello = client.hello()
    other = 65536 if before.abstain else 0  # a threshold that decides the other way
    changed = replace(monitor, decision=replace(monitor.decision, threshold_q16=other))
    block = pack_settings(changed, hello.model_id, hello.own_settings_check)
    assert client.push_settings(block) == check_of(block)
    client.start()
    assert client.infer(image).abstain != before.abstain
    board.part.machine.reset()
    board.exchange()
    client.start()
    assert client.infer(image).abstain != before.abstain
    own = pack_settings(monitor, hello.model_id)
    assert client.push_settings(own) == check_of(own) == hello.own_settings_check


def test_a_page_that_cannot_be_read_gives_way_to_the_other_until_it_is_written(board, client, name):
    """As where the power went while it was written: ECC of the small part."""
    monitor, hello = tiny_monitor(), client.hello()

    def push(threshold):
        changed = replace(monitor, decision=replace(monitor.decision, threshold_q16=threshold))
        block = pack_settings(changed, hello.model_id, hello.own_settings_check)
        assert client.push_settings(block) == check_of(block)
        return check_of(block)

    first, second = push(1), push(2)
    assert first != second
    machine = board.part.machine
    mend = machine.fault_on_read(PAGES[name][1], 2048)
    machine.reset()
    board.exchange()
    assert client.hello().settings_check == first
    assert machine.faults == 2  # read twice, then left alone
    machine.reset()
    board.exchange()
    assert client.hello().settings_check == first
    assert machine.faults == 2
    mend()
    third = push(3)  # goes to the page that was left alone
    machine.reset()
    board.exchange()
    assert client.hello().settings_check == third


def test_the_application_feeds_the_watchdog(board, client):
    watchdog = board.part.watchdog
    client.start()
    for _ in range(4):
        board.wait(15)
        client.infer(random_inputs(1)[0].tobytes())
    assert watchdog.expired == 0
    board.wait(33)  # as if it hung
    assert b"m-init-done" in board.exchange()
    assert watchdog.expired == 1


def test_a_higher_rate_holds_as_long_as_frames_arrive(board, client):
    assert client.speed_up() == 921600
    assert board.part.usart.baud == pytest.approx(921600, rel=0.02)
    client.start()
    client.infer(random_inputs(1)[0].tobytes())
    board.wait(3.1)
    assert board.exchange() == b""
    assert board.part.usart.baud == pytest.approx(115200, rel=0.02)


def test_an_image_that_rotted_in_flash_is_noticed(application, name):
    board = Board(name, application(name).elf)
    at = 0x08000000 + application(name).image_bytes - 16
    rotten = bytes([board.part.machine.uc.mem_read(at, 1)[0] ^ 1])
    board.part.machine.uc.mem_write(at, rotten)
    board.part.machine.reset()
    board.exchange()
    client = Client(SerialPort(board))
    assert client.hello().is_damaged
    with pytest.raises(LinkError) as caught:
        client.selftest()
    assert caught.value.reason is Reason.REFUSED


def test_the_stack_is_measured(client, name):
    client.selftest()
    found = client.stack()
    assert found.reserved_bytes == load_target(name).stack_bytes
    assert 0 < found.used_bytes < found.reserved_bytes // 2
