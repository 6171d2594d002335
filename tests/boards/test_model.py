"""The models themselves: what a part does not allow is really caught."""

import struct

import pytest

from .f767 import F767
from .l432 import L432
from .machine import PartError

BOTH = [L432, F767]
LOAD = "4048 0168 fee7"  # ldr r0, literal; ldr r1, [r0]; b .
STORE = "4048 0160 fee7"
STORE_BYTE = "4048 0170 fee7"
JUMP = "4048 0047 fee7"


def execute(part, code, literal):
    """Run a few Thumb instructions from reset; `ldr r0, [pc, #256]` finds the literal."""
    start = part.machine.flash.start
    part.machine.uc.mem_write(start, struct.pack("<II", 0x20000400, start + 9))
    part.machine.uc.mem_write(start + 8, bytes.fromhex(code))
    part.machine.uc.mem_write(start + 12 + 256, struct.pack("<I", literal))
    part.machine.reset()
    part.machine.uc.ctl_remove_cache(start, start + 0x200)
    part.machine.run()


@pytest.fixture(params=BOTH, ids=["l432", "f767"])
def part(request):
    made = request.param()
    made.machine.registers.reset()
    return made


@pytest.mark.parametrize(
    "address", [0x30000000, 0x60000000, 0x08200000, 0x20080000, 0x4002F000, 0xE0040000, 0xFFFFFFF0]
)
@pytest.mark.parametrize("code", [LOAD, STORE])
def test_an_address_outside_of_the_map_is_caught(part, code, address):
    with pytest.raises(PartError, match=f"{address:#010x} is outside"):
        execute(part, code, address)


def test_the_end_of_the_memory_is_the_end(part):
    """The first word behind the small part's RAM and flash is inside of the big one's."""
    if isinstance(part, L432):
        for address in (0x20010000, 0x08040000, 0x00000000):
            with pytest.raises(PartError, match="outside"):
                execute(L432(), LOAD, address)


def test_a_hole_between_registers_is_caught(part):
    hole = part.machine.registers.description["RCC.CR"].address + 0x14
    hole += 8 if isinstance(part, F767) else 0
    with pytest.raises(PartError, match="no register at"):
        execute(part, LOAD, hole)


def test_a_jump_out_of_the_code_is_caught(part):
    with pytest.raises(PartError, match="0x30000000 is outside"):
        execute(part, JUMP, 0x30000001)


def test_a_register_takes_whole_words(part):
    with pytest.raises(PartError, match=r"1 bytes of RCC\.CR"):
        execute(part, STORE_BYTE, part.machine.registers.description["RCC.CR"].address)


def test_a_program_without_end_is_caught(part, monkeypatch):
    monkeypatch.setattr("tests.boards.machine.RUN_LIMIT_US", 100_000)
    with pytest.raises(PartError, match="no end"):
        execute(part, "fee7", 0)


def ready(part, *names):
    """Switches sources on and waits."""
    registers = part.machine.registers
    for name in names:
        value = registers.get("RCC.CR") | registers.mask("RCC.CR", f"{name}ON")
        part.machine.poke("RCC.CR", value)
        for _ in range(20):
            part.machine.peek("RCC.CR")
        assert part.clock.is_ready(name)


def set_latency(part, states):
    part.machine.poke("FLASH.ACR", states)
    while part.machine.peek("FLASH.ACR") & 0xF != states:
        pass


def enable(part, *names):
    for name in names:
        register, field = part.clock.enables[name]
        value = part.machine.registers.get(register)
        part.machine.poke(register, value | part.machine.registers.mask(register, field))


def test_a_clock_that_is_not_ready_is_caught(part):
    with pytest.raises(PartError, match="PLL, which is not ready"):
        part.machine.poke("RCC.CFGR", 3 if isinstance(part, L432) else 2)


def test_a_clock_above_the_wait_states_is_caught():
    part = L432()
    part.machine.poke("RCC.PLLCFGR", 1 | 40 << 8 | 1 << 24)
    ready(part, "PLL")
    set_latency(part, 3)
    with pytest.raises(PartError, match="the core is at 80 MHz"):
        part.machine.poke("RCC.CFGR", 3)


def test_wait_states_hold_when_they_are_read_back():
    part = L432()
    part.machine.poke("RCC.PLLCFGR", 1 | 40 << 8 | 1 << 24)
    ready(part, "PLL")
    part.machine.poke("FLASH.ACR", 4)
    with pytest.raises(PartError, match="the core is at 80 MHz"):
        part.machine.poke("RCC.CFGR", 3)


def test_wait_states_may_not_fall_below_the_clock():
    part = L432()
    part.machine.poke("RCC.PLLCFGR", 1 | 40 << 8 | 1 << 24)
    ready(part, "PLL")
    set_latency(part, 4)
    part.machine.poke("RCC.CFGR", 3)
    assert part.clock.core_hz == 80_000_000
    with pytest.raises(PartError, match="80 MHz"):
        part.machine.poke("FLASH.ACR", 3)


def test_the_lower_voltage_does_not_stand_the_full_clock():
    part = L432()
    enable(part, "PWR")
    part.machine.poke("PWR.CR1", 2 << 9)
    part.machine.poke("RCC.PLLCFGR", 1 | 40 << 8 | 1 << 24)
    ready(part, "PLL")
    set_latency(part, 4)
    with pytest.raises(PartError, match="80 MHz"):
        part.machine.poke("RCC.CFGR", 3)


@pytest.mark.parametrize(("n", "said"), [(10, "oscillator"), (100, "oscillator")])
def test_a_pll_outside_of_its_range_is_caught(n, said):
    part = L432()
    part.machine.poke("RCC.PLLCFGR", 1 | n << 8 | 1 << 24)
    ready(part, "PLL")
    set_latency(part, 4)
    with pytest.raises(PartError, match=said):
        part.machine.poke("RCC.CFGR", 3)


F767_PLL = 8 | 216 << 6 | 9 << 24 | 2 << 28  # on HSI


def test_the_full_clock_without_over_drive_is_caught():
    part = F767()
    part.machine.poke("RCC.PLLCFGR", F767_PLL)
    ready(part, "PLL")
    set_latency(part, 7)
    part.machine.poke("RCC.CFGR", 5 << 10 | 4 << 13)
    with pytest.raises(PartError, match="the core is at 216 MHz"):
        part.machine.poke("RCC.CFGR", 5 << 10 | 4 << 13 | 2)


def over_drive(part):
    enable(part, "PWR")
    for bits in (1 << 16, 3 << 16):
        part.machine.poke("PWR.CR1", 3 << 14 | bits)
        for _ in range(8):
            part.machine.peek("PWR.CSR1")


@pytest.mark.parametrize(
    ("prescalers", "said"),
    [(0, "APB1 is at 216"), (4 << 10 | 4 << 13, "APB1 is at 108"), (5 << 10, "APB2 is at 216")],
)
def test_a_bus_that_is_too_fast_is_caught(prescalers, said):
    part = F767()
    part.machine.poke("RCC.PLLCFGR", F767_PLL)
    over_drive(part)
    ready(part, "PLL")
    set_latency(part, 7)
    with pytest.raises(PartError, match=said):
        part.machine.poke("RCC.CFGR", prescalers | 2)


def test_over_drive_has_an_order():
    part = F767()
    enable(part, "PWR")
    with pytest.raises(PartError, match="before it is ready"):
        part.machine.poke("PWR.CR1", 3 << 14 | 3 << 16)
    part = F767()
    enable(part, "USART3")
    with pytest.raises(PartError, match="peripherals have clocks"):
        over_drive(part)


def test_the_pll_is_not_changed_while_it_runs(part):
    ready(part, "PLL") if isinstance(part, F767) else part.machine.poke("RCC.CR", 0x01000063)
    with pytest.raises(PartError, match="while the PLL is on"):
        part.machine.poke("RCC.PLLCFGR", 0)


def test_the_oscillator_in_use_stays_on(part):
    with pytest.raises(PartError, match="while the core runs on it"):
        part.machine.poke("RCC.CR", 0)


def test_a_peripheral_without_its_clock_is_caught(part):
    with pytest.raises(PartError, match="without its clock"):
        part.machine.poke(f"{part.usart.name}.BRR", 100)


def console(part, divider):
    """Pins and USART, without the program's help."""
    for pin in (part.usart.transmit, part.usart.receive):
        enable(part, pin.gpio)
        half = "AFRL" if pin.number < 8 else "AFRH"
        for register, value in (
            (half, pin.function << pin.number % 8 * 4),
            ("MODER", 2 << pin.number * 2),
        ):
            held = part.machine.registers.get(f"{pin.gpio}.{register}")
            part.machine.poke(f"{pin.gpio}.{register}", held | value)
    enable(part, part.usart.name)
    part.machine.poke(f"{part.usart.name}.BRR", divider)
    part.machine.poke(f"{part.usart.name}.CR1", 0xD)


@pytest.mark.parametrize(("error", "fine"), [(0.0, True), (0.04, False), (-0.04, False)])
def test_another_rate_than_the_hosts_is_garbage(part, error, fine):
    console(part, round(part.clock.console_hz() / 115200 * (1 + error)))
    if fine:
        part.machine.poke(f"{part.usart.name}.TDR", 65)
        assert part.usart.outgoing == b"A"
    else:
        with pytest.raises(PartError, match="baud, the host has 115200"):
            part.machine.poke(f"{part.usart.name}.TDR", 65)


def test_a_byte_over_the_last_one_is_caught(part):
    console(part, round(part.clock.console_hz() / 115200))
    part.machine.poke(f"{part.usart.name}.TDR", 65)
    with pytest.raises(PartError, match="before the last one has gone"):
        part.machine.poke(f"{part.usart.name}.TDR", 66)


def test_switching_off_in_the_middle_of_a_byte_is_caught(part):
    console(part, round(part.clock.console_hz() / 115200))
    part.machine.poke(f"{part.usart.name}.TDR", 65)
    with pytest.raises(PartError, match="while it sends"):
        part.machine.poke(f"{part.usart.name}.CR1", 0)


def test_a_pin_that_is_not_connected_sends_nothing(part):
    console(part, round(part.clock.console_hz() / 115200))
    part.machine.poke(f"{part.usart.transmit.gpio}.MODER", 0)
    with pytest.raises(PartError, match="its pin is not on"):
        part.machine.poke(f"{part.usart.name}.TDR", 65)


def unlock(part):
    for key in (0x45670123, 0xCDEF89AB):
        part.machine.poke("FLASH.KEYR", key)


def test_a_locked_flash_stays_locked(part):
    with pytest.raises(PartError, match="locked"):
        part.machine.poke("FLASH.CR", 1)
    other = type(part)()
    with pytest.raises(PartError, match="wrong key"):
        other.machine.poke("FLASH.KEYR", 1)


def test_flash_is_only_written_where_that_is_allowed():
    part = L432()
    part.cache.take()
    unlock(part)
    part.flash._program(0x08001000, 4, 0)  # without PG
    assert part.machine.registers.get("FLASH.SR", "PGSERR") == 1
    part.machine.poke("FLASH.SR", 0xC3FA)
    part.machine.poke("FLASH.CR", 1)
    part.flash._program(0x08001004, 4, 0)  # the second word first
    assert part.machine.registers.get("FLASH.SR", "PGAERR") == 1
    part.machine.poke("FLASH.SR", 0xC3FA)
    for address in (0x08001000, 0x08001004):
        part.flash._program(address, 4, 0)
    while part.machine.peek("FLASH.SR") >> 16 & 1:
        pass
    for address in (0x08001000, 0x08001004):  # no longer erased
        part.flash._program(address, 4, 0)
    assert part.machine.registers.get("FLASH.SR", "PROGERR") == 1


def test_programming_clears_bits_and_erasing_sets_them():
    part = F767()
    part.cache.take()
    unlock(part)
    part.machine.poke("FLASH.CR", 2 << 8 | 1)
    for value in (0x0F0F0F0F, 0x33333333):
        part.flash._program(0x081E0000, 4, value)
        while part.machine.peek("FLASH.SR") >> 16 & 1:
            pass
    assert part.cache.cells[0x1E0000:][:4] == bytes([0x03] * 4)
    part.machine.poke("FLASH.CR", 2 << 8 | 2 | 11 << 3 | 1 << 16)
    assert part.cache.cells[0x1E0000:][:4] == b"\xff" * 4
    assert part.flash.erased == [(0x081C0000, 256 << 10)]


def test_a_sector_that_does_not_exist_is_an_error():
    part = F767()
    unlock(part)
    part.machine.poke("FLASH.CR", 2 << 8 | 2 | 27 << 3 | 1 << 16)  # of the second bank
    assert part.machine.registers.get("FLASH.SR", "ERSERR") == 1


def read(part, address, count):
    return bytes(part.machine.uc.mem_read(address, count))


def test_the_data_cache_hides_what_was_erased():
    part = F767()
    part.machine.uc.mem_write(0x081E0000, b"old!")
    part.cache.take()
    part.machine.poke("SCB.ICIALLU", 0)
    for at in range(128):
        for way in range(4):
            part.machine.poke("SCB.DCISW", way << 30 | at << 5)
    part.machine.poke("SCB.CCR", 0x30000)
    unlock(part)
    part.machine.poke("FLASH.CR", 2 << 8 | 2 | 11 << 3 | 1 << 16)
    assert read(part, 0x081E0000, 4) == b"old!"
    part.machine.poke("SCB.DCIMVAC", 0x081E0000)
    assert read(part, 0x081E0000, 4) == b"\xff" * 4


def test_the_accelerators_cache_hides_what_was_erased():
    part = L432()
    part.machine.uc.mem_write(0x0803F800, b"old!")
    part.cache.take()
    unlock(part)
    part.machine.poke("FLASH.CR", 2 | 127 << 3)
    part.machine.poke("FLASH.CR", 2 | 127 << 3 | 1 << 16)
    assert read(part, 0x0803F800, 4) == b"old!"
    with pytest.raises(PartError, match="reset while it is on"):
        part.machine.poke("FLASH.ACR", 0x600 | 1 << 12)
    part.machine.violation = None
    part.machine.poke("FLASH.ACR", 0)
    assert read(part, 0x0803F800, 4) == b"\xff" * 4
    part.machine.poke("FLASH.ACR", 0x600)  # on again, and the old lines are still there
    assert read(part, 0x0803F800, 4) == b"old!"
    part.machine.poke("FLASH.ACR", 0)
    part.machine.poke("FLASH.ACR", 3 << 11)
    part.machine.poke("FLASH.ACR", 0x600)
    assert read(part, 0x0803F800, 4) == b"\xff" * 4


def test_caches_are_invalidated_before_use():
    with pytest.raises(PartError, match="instruction cache is used without"):
        F767().machine.poke("SCB.CCR", 1 << 17)
    with pytest.raises(PartError, match="only 0 of 512 lines"):
        F767().machine.poke("SCB.CCR", 1 << 16)


def test_the_cycle_counter_needs_its_switches():
    part = F767()
    with pytest.raises(PartError, match="before TRCENA"):
        part.machine.poke("DWT.CTRL", 1)
    part = F767()
    part.machine.poke("SCB.DEMCR", 1 << 24)
    part.machine.poke("DWT.CTRL", 1)  # locked: nothing happens
    part.machine.cycles += 100
    assert part.machine.peek("DWT.CYCCNT") == 0
    part.machine.poke("DWT.LAR", 0xC5ACCE55)
    part.machine.poke("DWT.CTRL", 1)
    part.machine.cycles += 100
    assert part.machine.peek("DWT.CYCCNT") == 100
