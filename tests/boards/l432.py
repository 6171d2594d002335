"""The STM32L432KC on a NUCLEO-L432KC, by RM0394."""

from unicorn import arm_const as arm

from .clock import ClockTree, Source
from .core import Core, FlashCache
from .description import stm32l432
from .machine import Machine, Memory
from .pins import Gpio, Pin, Usart
from .watchdog import Watchdog

MHZ = 1_000_000
MSI_HZ = [100_000, 200_000, 400_000, 800_000, *(n * MHZ for n in (1, 2, 4, 8, 16, 24, 32, 48))]
KEYS = (0x45670123, 0xCDEF89AB)
PAGE_BYTES = 2048


class Clock(ClockTree):
    def __init__(self, machine: Machine) -> None:
        sources = (
            Source("MSI", self._msi_hz),
            Source("HSI", lambda: 16 * MHZ),
            Source("HSE", lambda: 0),
            Source("PLL", self._pll_hz),
        )
        super().__init__(machine, dict(enumerate(sources)))
        self.broken = {"HSE"}  # the pins lead nowhere on this board
        machine.handle("PWR.CR1", on_write=self._write_cr1)

    def _msi_hz(self) -> int:
        chosen = self.registers.get("RCC.CR", "MSIRGSEL")
        after_reset = self.registers.get("RCC.CSR", "MSISRANGE")
        return MSI_HZ[self.registers.get("RCC.CR", "MSIRANGE") if chosen else after_reset]

    def _pll_hz(self) -> int:
        get = self.registers.get
        source = ("", "MSI", "HSI", "HSE")[get("RCC.PLLCFGR", "PLLSRC")]
        if not source or not get("RCC.PLLCFGR", "PLLREN"):
            return 0
        reference = self.source_hz(source) / (get("RCC.PLLCFGR", "PLLM") + 1)
        vco = reference * get("RCC.PLLCFGR", "PLLN")
        if get("RCC.CR", "PLLON"):
            self.between("the PLL's input is", reference, 4 * MHZ, 16 * MHZ)
            self.between("the PLL's oscillator is", vco, 64 * MHZ, 344 * MHZ)
        return int(vco / (2 * (get("RCC.PLLCFGR", "PLLR") + 1)))

    def console_hz(self) -> int:
        if self.registers.get("RCC.CCIPR", "USART2SEL"):
            self.machine.forbid("the console has another clock")
        return self.bus_hz(1)

    def check_limits(self) -> None:
        """Range 1: 80 MHz, 16 MHz for each state; range 2: 26 MHz, 6 MHz each."""
        fast = self.registers.get("PWR.CR1", "VOS") == 1
        fast = fast and not self.registers.get("PWR.SR2", "VOSF")
        states = self.registers.get("FLASH.ACR", "LATENCY") + 1
        most = min(80, 16 * states) if fast else min(26, 6 * states)
        self.between("the core is", self.core_hz, 0, most * MHZ)

    def _write_cr1(self, value: int) -> None:
        before = self.registers.get("PWR.CR1", "VOS")
        self.registers.put("PWR.CR1", value)
        if self.registers.get("PWR.CR1", "VOS") != before:
            self.registers.put("PWR.SR2", 1, "VOSF")
            self.registers.later("PWR.SR2", "VOSF", 0)


class Flash:
    """Pages of 2 KB; two words in a row are written at once, and only where nothing is."""

    def __init__(self, machine: Machine, clock: Clock, cache: FlashCache) -> None:
        self.machine, self.registers, self.cache = machine, machine.registers, cache
        self.clock = clock
        machine.on_reset.append(self._reset)
        machine.on_flash_write = self._program
        machine.handle("FLASH.ACR", on_write=self._write_acr)
        machine.handle("FLASH.KEYR", on_write=self._write_keyr)
        machine.handle("FLASH.SR", on_write=self._write_sr)
        machine.handle("FLASH.CR", on_write=self._write_cr)
        self._reset()

    def _reset(self) -> None:
        self.keys: list[int] = []
        self.first: tuple[int, int] | None = None  # address and value of a word that waits
        self.erased_pages: list[int] = []
        self.cache.enabled = True
        self.cache.invalidate_all()

    def _fail(self, flag: str) -> None:
        self.registers.put("FLASH.SR", 1, flag)

    def _failed(self) -> int:
        return self.registers.get("FLASH.SR") & 0xC3FA

    def _write_acr(self, value: int) -> None:
        self.clock.set_latency(value)
        for cache in "ID":
            enabled = self.registers.get("FLASH.ACR", f"{cache}CEN")
            if enabled and self.registers.get("FLASH.ACR", f"{cache}CRST"):
                self.machine.forbid("a cache is reset while it is on")
        enabled = bool(self.registers.get("FLASH.ACR", "DCEN"))
        if self.registers.get("FLASH.ACR", "DCRST") and not enabled:
            self.cache.invalidate_all()
        self.cache.enable(enabled)

    def _write_keyr(self, value: int) -> None:
        self.keys.append(value)
        if tuple(self.keys) == KEYS:
            self.registers.put("FLASH.CR", 0, "LOCK")
        elif tuple(self.keys) != KEYS[: len(self.keys)]:
            self.machine.forbid("a wrong key for the flash")

    def _write_sr(self, value: int) -> None:
        self.registers.put("FLASH.SR", self.registers.get("FLASH.SR") & ~(value & 0xFFFF))

    def _write_cr(self, value: int) -> None:
        if self.registers.get("FLASH.SR", "BSY"):
            self.machine.forbid("FLASH.CR is written while the flash is busy")
        if self.registers.get("FLASH.CR", "LOCK"):
            self.machine.forbid("FLASH.CR is written while it is locked")
        self.registers.put("FLASH.CR", value)
        if self.registers.get("FLASH.CR", "LOCK"):
            self.keys = []
        if self.registers.get("FLASH.CR", "START"):
            self.registers.put("FLASH.CR", 0, "START")
            if self._failed() or not self.registers.get("FLASH.CR", "PER"):
                self._fail("PGSERR")
                return
            page = self.registers.get("FLASH.CR", "PNB")
            self.erased_pages.append(page)
            start = self.machine.flash.start + page * PAGE_BYTES
            self.cache.erase(start, PAGE_BYTES, may_be_cached=True)
            self._busy()

    def _busy(self) -> None:
        self.registers.put("FLASH.SR", 1, "BSY")
        self.registers.later("FLASH.SR", "BSY", 0, reads=5)

    def _program(self, address: int, size: int, value: int) -> None:
        if self.registers.get("FLASH.SR", "BSY"):
            self.machine.forbid("the flash is written while it is busy")
        locked = self.registers.get("FLASH.CR", "LOCK")
        if locked or self._failed() or not self.registers.get("FLASH.CR", "PG"):
            self._fail("PGSERR")
        elif size != 4:
            self._fail("SIZERR")
        elif self.first is None and address % 8 == 0:
            self.first = address, value
        elif self.first is None or address != self.first[0] + 4:
            self._fail("PGAERR")
        else:
            start, low = self.first
            self.first = None
            data = (value << 32 | low).to_bytes(8, "little")
            at = start - self.machine.flash.start
            if self.cache.cells[at : at + 8] != b"\xff" * 8:
                self._fail("PROGERR")
                return
            self.cache.program(start, data, written_through=False)
            self._busy()


class L432:
    """The board. SRAM2 lies behind SRAM1, and at another address that nobody needs."""

    def __init__(self) -> None:
        flash = Memory(0x08000000, 256 << 10)
        sram = Memory(0x20000000, 64 << 10)
        self.machine = Machine(arm.UC_CPU_ARM_CORTEX_M4, [sram], flash, stm32l432())
        self.machine.registers.reset()
        self.cache = FlashCache(self.machine)
        self.core = Core(self.machine, has_lock=False)
        self.clock = Clock(self.machine)
        self.flash = Flash(self.machine, self.clock, self.cache)
        self.watchdog = Watchdog(self.machine, lambda: self.clock.core_hz)
        self.gpio = Gpio(self.machine, Pin("GPIOA", 12))
        self.usart = Usart(
            self.machine,
            "USART2",
            self.gpio,
            Pin("GPIOA", 2, 7),
            Pin("GPIOA", 15, 3),
            self.clock.console_hz,
        )
