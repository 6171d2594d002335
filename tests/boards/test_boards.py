"""The ports, used by program.c, on models of their parts: clock, console, counter, settings."""

import struct
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from snapcli.targets import load_target

from ..unit.tiny_monitor import random_inputs, tiny_monitor
from .board import GREETING, MODELS, Commands

NAMES = sorted(MODELS)
BIG = [name for name in NAMES if name != "small-mcu"]
BIG_PAGES = (0x08180000, 0x081C0000)
PAGES = {"small-mcu": (0x0803F000, 0x0803F800), "big-mcu": BIG_PAGES, "big-mcu-tcm": BIG_PAGES}


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


@pytest.fixture
def board(program, name):
    booted = Commands(name, program(name).elf)
    assert booted.exchange() == GREETING
    return booted


# ---- Clock ---------------------------------------------------------------------


def test_runs_at_the_clock_that_the_target_names(board, name):
    """The model watches the way there: wait states, voltage and over-drive come first."""
    clock, registers = board.part.clock, board.part.machine.registers
    assert clock.core_hz == clock.highest_hz == load_target(name).clock_hz
    assert registers.get("RCC.CFGR", "SWS") == registers.get("RCC.CFGR", "SW")
    assert board.part.core.fpu_enabled


def test_the_small_part_uses_its_accelerator(program):
    board = Commands("small-mcu", program("small-mcu").elf)
    board.exchange()
    registers = board.part.machine.registers
    found = [registers.get("FLASH.ACR", part) for part in ("LATENCY", "PRFTEN", "ICEN", "DCEN")]
    assert found == [4, 1, 1, 1]
    assert registers.get("PWR.CR1", "VOS") == 1


@pytest.mark.parametrize("name", BIG, indirect=True)
def test_the_big_part_uses_its_accelerator_caches_and_over_drive(board):
    registers = board.part.machine.registers
    assert [registers.get("FLASH.ACR", p) for p in ("LATENCY", "PRFTEN", "ARTEN")] == [7, 1, 1]
    assert board.part.caches.enabled == (True, True)
    assert board.part.clock.over_drive
    assert (board.part.clock.bus_hz(1), board.part.clock.bus_hz(2)) == (54_000_000, 108_000_000)
    assert registers.get("RCC.PLLCFGR", "PLLSRC") == 1  # HSE


@pytest.mark.parametrize("name", BIG)
def test_without_the_clock_of_the_st_link_the_big_part_runs_on_its_own(program, name):
    board = Commands(name, program(name).elf)
    board.part.clock.broken = {"HSE"}
    assert board.exchange() == GREETING
    registers = board.part.machine.registers
    assert registers.get("RCC.PLLCFGR", "PLLSRC") == 0  # HSI
    assert registers.get("RCC.CR", "HSEON") == registers.get("RCC.CR", "HSEBYP") == 0
    assert board.part.clock.core_hz == 216_000_000


# ---- Inference ---------------------------------------------------------------------


def test_inferences_are_those_of_the_integer_reference(board):
    inputs = random_inputs(12, seed=3)
    expected = tiny_monitor().run(inputs)
    for index, image in enumerate(inputs):
        found = board.infer(image)
        assert found.predicted == expected.predicted[index]
        assert found.abstain == expected.abstain[index]
        assert found.score_q16 == expected.score_q16[index]
        assert found.uncertainty_q16 == expected.uncertainty_q16[index]
        assert found.foreign == expected.foreign[index]
        assert found.foreign_q16 == expected.foreign_q16[index]
        assert list(found.surprisal_q16) == expected.surprisal_q16[index].tolist()
        assert list(found.logits) == expected.logits[index].tolist()


def test_the_marker_is_high_while_an_inference_is_timed(board):
    inputs = random_inputs(3, seed=4)
    assert board.part.gpio.drives(board.part.gpio.marker)
    counts = [board.infer(image).count for image in inputs]
    edges = board.part.gpio.edges
    assert [level for _, level in edges] == [1, 0] * 3
    for count, (rise, _), (fall, _) in zip(counts, edges[::2], edges[1::2], strict=True):
        assert 0 <= fall - rise - count < 100


def test_the_count_is_right_when_the_counter_wraps(board):
    image = random_inputs(1)[0]
    board.infer(image)  # the first one fills what later ones reuse
    board.part.core.set_counter(0)
    expected = board.infer(image).count
    assert expected > 10_000
    board.part.core.set_counter(2**32 - expected // 2 - 10_000)
    assert board.infer(image).count == expected
    assert board.part.machine.peek("DWT.CYCCNT") < 2**31


def test_the_stack_is_painted_and_measured(board, name):
    used, reserved = board.stack()
    assert reserved == load_target(name).stack_bytes
    board.infer(random_inputs(1)[0])
    assert 0 < used <= board.stack()[0] < reserved


# ---- Settings -------------------------------------------------------------------------


@pytest.mark.parametrize("page", [0, 1])
def test_settings_are_replaced_and_outlive_a_reset(board, name, page):
    erased = b"\xff" * 64
    assert board.settings(64, page) == erased
    capacity = struct.unpack("<I", board.ask(b"c", 4))[0]
    assert capacity == {"small-mcu": 2048}.get(name, 128 << 10)
    generator = np.random.default_rng(5)
    for count in (1, 2048, 620):  # each needs bits that the last one has cleared
        data = generator.bytes(count)
        assert board.replace_settings(data, page)
        assert board.settings(count, page) == data
    assert board.part.cache.cells[PAGES[name][page] - 0x08000000 :][:620] == data
    board.part.machine.reset()
    assert board.exchange() == GREETING
    assert board.settings(640, page) == data + b"\xff" * 20
    assert board.replace_settings(b"", page)
    assert board.settings(64, page) == erased


def test_the_program_can_restart_itself(board):
    assert board.replace_settings(b"kept")
    assert board.ask(b"x", len(GREETING)) == GREETING
    assert board.settings(4) == b"kept"
    assert board.part.clock.core_hz > 16_000_000


@pytest.mark.parametrize("page", [0, 1])
def test_replacing_settings_leaves_the_rest_of_the_flash_alone(board, name, page):
    assert board.replace_settings(b"other page", 1 - page)
    before = bytes(board.part.cache.cells)
    assert board.replace_settings(b"\x00" * 100, page)
    after = bytes(board.part.cache.cells)
    start = PAGES[name][page] - 0x08000000
    assert after[:start] == before[:start]
    assert after[start + 100 :] == before[start + 100 :]
    assert board.part.machine.registers.get("FLASH.CR", "LOCK") == 1


def test_an_old_error_of_the_flash_is_in_nobodys_way(board):
    board.part.machine.registers.put("FLASH.SR", 1, "PGAERR")
    assert board.replace_settings(b"kept")
    assert board.settings(4) == b"kept"


def test_settings_that_read_back_otherwise_are_noticed(board, name):
    board.part.cache.worn = {PAGES[name][0] + 5}
    assert not board.replace_settings(b"12345\x006789")
    assert board.replace_settings(b"12345\xff6789")


def test_settings_that_do_not_fit_are_refused(program):
    board = Commands("small-mcu", program("small-mcu").elf)
    board.exchange()
    assert board.replace_settings(b"kept")
    assert not board.replace_settings(bytes(2049))
    assert board.settings(4) == b"kept"


@pytest.mark.parametrize("name", BIG)
@pytest.mark.parametrize("two_banks", [False, True])
def test_the_big_part_erases_the_settings_sectors_in_one_bank_or_two(program, name, two_banks):
    board = Commands(name, program(name).elf)
    board.part.flash.two_banks = two_banks
    board.part.machine.reset()
    assert board.exchange() == GREETING
    for page in (0, 1):
        assert board.replace_settings(b"first \x00", page)
        assert board.replace_settings(b"second\xff", page)
    assert board.settings(7, 0) == board.settings(7, 1) == b"second\xff"
    size = (128 if two_banks else 256) << 10
    assert board.part.flash.erased == [(start, size) for start in BIG_PAGES for _ in range(2)]
    assert BIG_PAGES[0] - 0x08000000 >= load_target(name).flash_bytes  # no image reaches them


# ---- What outlives a restart, and what makes one -------------------------------------------


def test_one_word_outlives_a_restart(board):
    board.ask(b"k" + struct.pack("<I", 0x12345678), 4)
    assert board.ask(b"x", len(GREETING)) == GREETING
    assert board.ask(b"k" + bytes(4), 4) == struct.pack("<I", 0x12345678)


def test_a_program_that_does_not_feed_the_watchdog_starts_anew(board):
    """Nothing of program.c does but its command f."""
    watchdog = board.part.watchdog
    assert watchdog.running
    assert watchdog.period_s == pytest.approx(32.768)
    for _ in range(3):
        board.wait(30)
        assert board.exchange(b"f") == b""
    board.wait(33)
    assert board.exchange() == GREETING
    assert watchdog.expired == 1
    assert watchdog.running  # again


@pytest.mark.parametrize(("name", "lsi_hz"), [("small-mcu", 34_000), ("big-mcu", 47_000)])
def test_the_watchdog_of_a_quick_oscillator_waits_longer_than_the_longest_inference(
    program, name, lsi_hz
):
    """On the big part one inference may take 19 s, on the small one 30 s (docs/boards.md)."""
    board = Commands(name, program(name).elf)
    board.part.watchdog.lsi_hz = lsi_hz
    assert board.exchange() == GREETING
    wrap_s = 2**32 / load_target(name).clock_hz
    board.wait(min(30.0, wrap_s))
    assert board.exchange(b"f") == b""
    assert board.part.watchdog.expired == 0


def test_a_debugger_that_halts_the_core_halts_the_watchdog(board, name):
    register = "DBGMCU.APB1FZR1" if name == "small-mcu" else "DBGMCU.APB1FZ"
    assert board.part.machine.registers.get(register, "DBG_IWDG_STOP") == 1


# ---- Console ------------------------------------------------------------------------------

CONSOLE_HZ = {"small-mcu": 80_000_000, "big-mcu": 54_000_000, "big-mcu-tcm": 54_000_000}


def is_known(clock_hz: int, baud: int) -> bool:
    """By exact arithmetic: some divider of 16 bits, 16 at least, comes within 2 %."""
    if baud == 0:
        return False
    return any(
        16 <= divider <= 0xFFFF and abs(Fraction(clock_hz, divider) / baud - 1) <= Fraction(1, 50)
        for divider in (clock_hz // baud, clock_hz // baud + 1)
    )


@pytest.mark.parametrize("baud", [9600, 230400, 460800, 921600, 1_000_000, 2_000_000])
def test_usual_rates_are_known(board, baud):
    assert board.set_baud(baud)
    assert board.part.usart.baud == pytest.approx(baud, rel=0.02)
    assert board.set_baud(115200)
    assert board.stack()[1] > 0


@pytest.mark.parametrize("name", ["small-mcu", "big-mcu"], indirect=True)
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=100,
)
@given(
    baud=st.one_of(
        st.integers(0, 2**32 - 1), st.integers(500, 2_000_000), st.integers(2_000_000, 6_000_000)
    )
)
def test_a_rate_is_known_or_nothing_changes(board, name, baud):
    """Every further answer proves that host and device still understand each other."""
    assert board.set_baud(baud) == is_known(CONSOLE_HZ[name], baud)


def test_reception_goes_on_after_an_overrun(board):
    for byte in b"??":  # nobody takes the first one in time
        board.part.usart.arrive(byte)
    assert board.part.machine.registers.get(f"{board.part.usart.name}.ISR", "ORE") == 1
    assert board.stack()[1] > 0
    assert board.part.machine.registers.get(f"{board.part.usart.name}.ISR", "ORE") == 0
