"""The application with the tiny model on QEMU, and linked for the boards."""

import re
import shutil
import struct
from dataclasses import replace

import pytest

from snapcli import toolchain
from snapcli.device import Client, Emulator, LinkError, Reason, Selftest
from snapcli.errors import ConfigError, DeviceError, ToolchainError
from snapcli.stack import checked_stack
from snapcli.stages import flash
from snapcli.targets import load_target, target_names
from tests.conftest import need
from tests.unit.firmware import tiny_model
from tests.unit.firmware.tiny_model import INPUT_BYTES, OTHER, OWN, alone, expected

needs_qemu = pytest.mark.skipif(
    shutil.which(toolchain.QEMU) is None, reason=f"{toolchain.QEMU} is not installed"
)
EMULATED = [name for name in target_names() if load_target(name).emulator]
WORK = 1000  # turns of a loop for each unit of the first byte


def build_app(folder, name, **defines):
    return build_for(load_target(name), folder, **defines)


def build_for(target, folder, **defines):
    sources, include_dirs = tiny_model.sources()
    sources += toolchain.app_sources()
    return toolchain.build(target, sources, include_dirs, defines, folder / "out")


def data_of(first: int) -> bytes:
    return bytes([first]) + bytes(INPUT_BYTES - 1)


@pytest.fixture(scope="module", params=EMULATED)
def firmware(request, tmp_path_factory):
    need(compiler=True, emulator=True)
    defines = {"TINY_MODEL_WORK": str(WORK), "TINY_MODEL_OVERFLOW": ""}
    built = build_app(tmp_path_factory.mktemp(request.param), request.param, **defines)
    return load_target(request.param), built


@pytest.fixture
def client(firmware):
    target, built = firmware
    with Emulator(target, built.elf) as emulator, Client(emulator.port) as client:
        yield client


# ---- Under QEMU -------------------------------------------------------------


def test_hello_tells_what_was_built(firmware, client):
    target, built = firmware
    hello = client.hello()
    assert (hello.target, hello.model_id) == (target.name, tiny_model.MODEL_ID)
    assert (hello.counter_unit, hello.counter_step) == (target.counter, 40)
    assert (hello.counter_hz, hello.is_emulator) == (25_000_000, True)
    assert (hello.has_heads, hello.is_damaged) == (True, False)
    assert hello.image_crc == built.image_crc
    assert (hello.settings_check, hello.own_settings_check) == (OWN.check, OWN.check)


def test_the_image_is_the_one_that_was_linked(firmware, client):
    check = client.check()
    assert (check.bytes, check.linked_crc) == (firmware[1].image_bytes, firmware[1].image_crc)
    assert check.computed_crc == check.linked_crc
    assert client.selftest() == Selftest(3, None)


def test_inference_gives_the_model_s_results(client):
    client.start()
    for first in range(20):
        result = client.infer(data_of(first))
        assert alone(result) == expected(data_of(first))


def test_counts_are_exactly_repeatable(firmware):
    target, built = firmware
    runs = []
    for _ in range(2):
        with Emulator(target, built.elf) as emulator, Client(emulator.port) as client:
            client.start()
            rows = [[client.infer(data_of(x)).count for x in (0, 10, 20, 10)] for _ in range(5)]
            runs.append(rows)
    counts = runs[0][0]
    assert all(row == counts for run in runs for row in run)
    none, ten, twenty, again = counts
    assert ten == again
    assert none % 40 == ten % 40 == 0
    # 10,000 turns more cost the same each time, but for the steps of the counter.
    assert abs((twenty - ten) - (ten - none)) <= 2 * 40
    assert 5 <= (ten - none) / (10 * WORK) <= 30


def test_profile_splits_the_count(client):
    client.start()
    plain, profile = client.infer(data_of(10)), client.profile(data_of(10))
    assert profile.inference.predicted == plain.predicted
    loop, left_out, classes, decision = profile.step_counts
    assert loop > 10 * classes > 0
    assert decision > 0
    assert left_out == 0
    assert 0 <= profile.inference.count - sum(profile.step_counts) <= 80
    assert 0 <= profile.inference.count - plain.count < 800


def test_stack_high_water_mark(firmware, client):
    client.profile(data_of(0))
    stack = client.stack()
    assert stack.reserved_bytes == firmware[0].stack_bytes
    assert 100 < stack.used_bytes < 1024


def exercise(client: Client) -> None:
    """Every request and every command."""
    client.hello()
    client.profile(data_of(0))
    client.selftest()
    client.check()
    client.start()
    client.infer(data_of(0))
    for command in ("name", "profile", "timestamp", "help", "db load 1", "db 00", "db print"):
        client.text(command)
    assert client.text("infer 1 0")[-1].startswith("m-results-")
    assert client.text("results") == client.text("results")
    client.push_settings(OTHER.pack(OWN.check))


@pytest.mark.parametrize("classes", [10, 1500])
@pytest.mark.parametrize("name", EMULATED)
def test_the_stack_stays_below_its_bound_whatever_the_model_has_of_classes(tmp_path, name, classes):
    need(compiler=True, emulator=True)
    target = load_target(name)
    built = build_app(tmp_path, name, SNAP_MODEL_CLASSES=str(classes))
    bound = checked_stack(built.code, target.stack_bytes, name)
    with Emulator(target, built.elf) as emulator, Client(emulator.port) as client:
        exercise(client)
        results = client.text("infer 1 0")[-1]
        assert results.count(",") == classes - 1
        stack = client.stack()
    assert stack.reserved_bytes == target.stack_bytes
    assert stack.used_bytes <= bound.bytes < 1.5 * stack.used_bytes
    # The frames of ten classes: none of them is an array of the model's.
    assert bound.bytes < 600


@pytest.mark.parametrize("name", ["qemu-m4", "small-mcu", "big-mcu-tcm"])
def test_an_image_that_may_need_more_stack_than_there_is_is_not_built(tmp_path, name):
    need(compiler=True)
    sources, includes = tiny_model.sources()
    target = load_target(name)
    size = flash._build(target, sources, includes, tmp_path / "out", "firmware", {})[1]
    assert 0 < size.stack_bytes < target.stack_bytes
    less = replace(target, stack_bytes=size.stack_bytes - 8)
    with pytest.raises(ConfigError, match=rf"{name} may need {size.stack_bytes} .* > app_run > "):
        flash._build(less, sources, includes, tmp_path / "out", "firmware", {})


def test_a_stack_that_has_no_bound_is_an_error(firmware):
    with pytest.raises(ToolchainError, match=r"deep > deep calls itself"):
        checked_stack(firmware[1].code, firmware[0].stack_bytes, "it")


def test_settings_are_replaced_and_given_back(client):
    assert client.push_settings(OTHER.pack(OWN.check)) == OTHER.check
    client.start()
    result = client.infer(data_of(9))
    assert alone(result) == expected(data_of(9), OTHER)
    assert client.push_settings(OWN.pack()) == OWN.check
    assert client.hello().settings_check == OWN.check


def test_a_stream_goes_on_after_a_restart(client):
    client.start()
    first = [client.infer(data_of(x)) for x in range(10)]
    client.restart()
    client.start(first[4].state)
    assert [client.infer(data_of(x)) for x in range(5, 10)] == first[5:]


def test_mlperf_s_commands_tell_that_time_is_virtual(firmware, client):
    client.hello()  # it has booted
    assert client.text("name") == [f"m-name-dut-[snap {firmware[0].name} emulator]"]
    client.text(f"db load {INPUT_BYTES}")
    assert client.text(f"db {data_of(100).hex()}") == ["m-load-done"]
    client.start()
    instructions = client.infer(data_of(100)).count
    lines = client.text("infer 5 0")
    begin, end = (int(line[9:]) for line in lines if line.startswith("m-lap-us-"))
    # An instruction takes a nanosecond. Between runs the input is copied, and told about.
    assert 5 * instructions <= 1000 * (end - begin) <= 5.1 * instructions + 50_000
    probabilities = re.fullmatch(r"m-results-\[(.*)\]", lines[-1])[1].split(",")
    assert [float(p) for p in probabilities] == tiny_model.probabilities(
        expected(data_of(100)).logits
    )


def test_a_higher_rate_is_agreed_upon(client):
    assert client.speed_up() > 115200
    client.start()
    assert client.infer(data_of(1)).predicted == 1


def test_a_stack_overflow_is_told(firmware):
    target, built = firmware
    with Emulator(target, built.elf) as emulator, Client(emulator.port) as client:
        client.start()
        with pytest.raises(LinkError, match="stack overflow") as caught:
            client.infer(b"\xff" * INPUT_BYTES)
        assert caught.value.reason == Reason.FAULT
        assert client.hello().target == target.name  # it has started anew


@pytest.mark.parametrize("name", EMULATED)
def test_the_watchdog_ends_what_hangs_and_nothing_else(tmp_path, name):
    """It waits for half a virtual second here, and an instruction takes a nanosecond."""
    need(compiler=True, emulator=True)
    built = build_app(tmp_path, name, TINY_MODEL_WORK="1000000", PORT_WATCHDOG_S="1/2")
    with Emulator(load_target(name), built.elf) as emulator, Client(emulator.port) as client:
        client.start()
        short = client.infer(data_of(10)).count
        assert short < 0.3e9
        runs = 1 + int(1e9 / short)
        client.text("db load 1")
        client.text(f"db {10:02x}")
        assert client.text(f"infer {runs} 0")[-1].startswith("m-results-")
        with pytest.raises(LinkError, match="NMI") as caught:
            client.infer(data_of(255))
        assert caught.value.reason == Reason.FAULT
        assert client.infer(data_of(10)).count == short
        assert client.restarts == 1


NOWHERE, SOMEWHERE = 0x50000000, 0x00300000  # on the emulated board: a fault; memory


def with_pages_at(folder, name, first, second):
    """The target, with its pages of settings at these addresses."""
    target = replace(load_target(name), port=str(folder / "port"))
    shutil.copytree(toolchain.firmware_dir() / "port" / load_target(name).port, target.port)
    script = folder / "port" / "memory.ld"
    text = script.read_text()
    before = "ORIGIN = PORT_FLASH_BYTES, LENGTH = PORT_SETTINGS_BYTES"
    assert before in text
    length = 2 * (second - first)
    text = text.replace(before, f"ORIGIN = {first:#x}, LENGTH = {length:#x}")
    script.write_text(text.replace("PORT_SETTINGS_BYTES / 2", "2048"))
    return target


@pytest.mark.parametrize("name", EMULATED)
def test_a_page_of_settings_that_cannot_be_read_is_left_alone(tmp_path, name):
    """Without care the device would fault at each boot, for ever."""
    need(compiler=True, emulator=True)
    target = with_pages_at(tmp_path, name, SOMEWHERE, NOWHERE)
    built = build_for(target, tmp_path)
    with Emulator(target, built.elf) as emulator, Client(emulator.port) as client:
        wait_for_boot(client)
        hello = client.hello()
        assert hello.settings_check == hello.own_settings_check == OWN.check
        assert client.push_settings(OTHER.pack(OWN.check)) == OTHER.check
        client.restart()
        assert client.hello().settings_check == OTHER.check
        # The next ones have to go to the other page, and fail; those in use stay.
        with pytest.raises(LinkError, match=r"hard fault .* at address 0x50000000"):
            client.push_settings(OWN.pack())
        wait_for_boot(client)
        assert client.hello().settings_check == OTHER.check


@pytest.mark.parametrize("name", EMULATED)
def test_where_no_page_can_be_read_the_image_s_own_settings_rule(tmp_path, name):
    need(compiler=True, emulator=True)
    target = with_pages_at(tmp_path, name, NOWHERE, NOWHERE + 2048)
    built = build_for(target, tmp_path)
    with Emulator(target, built.elf) as emulator, Client(emulator.port) as client:
        wait_for_boot(client)
        assert client.hello().settings_check == OWN.check
        client.start()
        result = client.infer(data_of(9))
        assert result.uncertainty_q16 == expected(data_of(9)).uncertainty_q16


def wait_for_boot(client: Client) -> None:
    """Each page that faults is read twice, and each fault is told."""
    reasons: list[Reason] = []
    while len(reasons) < 5:
        try:
            client.hello()
        except LinkError as error:
            reasons.append(error.reason)
        else:
            break
    assert reasons == [Reason.FAULT] * len(reasons)
    assert len(reasons) < 5, "it faults again and again"


def test_selftest_finds_the_vector_that_differs(tmp_path):
    need(compiler=True, emulator=True)
    built = build_app(tmp_path, "qemu-m4", TINY_MODEL_WRONG="1", SNAP_MODEL_WITHOUT_HEADS="")
    with (
        Emulator(load_target("qemu-m4"), built.elf) as emulator,
        Client(emulator.port) as client,
    ):
        assert not client.hello().has_heads
        assert client.selftest() == Selftest(3, 2)
        client.start()
        assert client.infer(data_of(3)).surprisal_q16 == ()


@needs_qemu
@pytest.mark.parametrize(
    ("machine", "reason"), [("mps2-an386", r"missing\.elf"), ("toaster", "unsupported machine")]
)
def test_an_emulator_that_cannot_start_says_why(tmp_path, machine, reason):
    target = replace(load_target("qemu-m4"), emulator=machine)

    def start():
        with Emulator(target, tmp_path / "missing.elf") as emulator:
            Client(emulator.port).hello()

    with pytest.raises(DeviceError, match=f"ended by itself: qemu.*{reason}"):
        start()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), DeviceError("mine"), ValueError()])
def test_qemu_ends_with_its_context_and_lets_errors_through(firmware, error):
    emulator = Emulator(firmware[0], firmware[1].elf)

    def fail():
        with emulator:
            assert emulator._process.poll() is None
            raise error

    with pytest.raises(type(error)) as caught:
        fail()
    assert caught.value is error
    assert emulator._process.poll() is not None


# ---- The boards --------------------------------------------------------------


@pytest.mark.parametrize("name", ["small-mcu", "big-mcu"])
def test_links_for_the_real_boards(tmp_path, name):
    need(compiler=True)
    target = load_target(name)
    built = build_app(tmp_path, name)
    assert 1000 < built.flash_bytes < 16000
    # Where payloads arrive, the stack, and little else: the last answer, a line, an input, what the
    # stream remembers, its telemetry; and 640 bytes of tables of this model's own.
    assert 0 <= built.ram_bytes - (tiny_model.RECEIVE_BYTES + target.stack_bytes) < 1400
    stack_top, reset = struct.unpack_from("<II", built.bin.read_bytes())
    assert 0x20000000 <= stack_top <= 0x20000000 + target.ram_bytes
    assert 0x08000040 <= reset < 0x08000000 + built.flash_bytes
    assert reset & 1  # Thumb
