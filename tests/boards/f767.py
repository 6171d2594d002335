"""The STM32F767ZI on a NUCLEO-F767ZI, by RM0410."""

from unicorn import arm_const as arm

from .clock import ClockTree, Source
from .core import Caches, Core, FlashCache
from .description import stm32f767
from .machine import Machine, Memory
from .pins import Gpio, Pin, Usart
from .watchdog import Watchdog

MHZ = 1_000_000
KEYS = (0x45670123, 0xCDEF89AB)
KB = 1024
ONE_BANK = (*[32 * KB] * 4, 128 * KB, *[256 * KB] * 7)
TWO_BANKS = (*[16 * KB] * 4, 64 * KB, *[128 * KB] * 7)  # each of them
BANK_BYTES = 1024 * KB
WORDS = 2  # PSIZE


class Clock(ClockTree):
    def __init__(self, machine: Machine) -> None:
        sources = (
            Source("HSI", lambda: 16 * MHZ),
            Source("HSE", lambda: 8 * MHZ),
            Source("PLL", self._pll_hz),
        )
        super().__init__(machine, dict(enumerate(sources)))
        machine.handle("PWR.CR1", on_write=self._write_cr1)
        machine.handle("PWR.CSR1", on_write=lambda value: None)

    def starts(self, name: str) -> bool:
        """The board has no crystal: HSE is what the ST-LINK sends."""
        bypassed = self.registers.get("RCC.CR", "HSEBYP")
        return super().starts(name) and (name != "HSE" or bool(bypassed))

    def _pll_hz(self) -> int:
        get = self.registers.get
        source = "HSE" if get("RCC.PLLCFGR", "PLLSRC") else "HSI"
        reference = self.source_hz(source) / max(1, get("RCC.PLLCFGR", "PLLM"))
        vco = reference * get("RCC.PLLCFGR", "PLLN")
        if get("RCC.CR", "PLLON"):
            if not self.is_ready(source):
                self.machine.forbid(f"the PLL runs on {source}, which is not ready")
            self.between("the PLL's input is", reference, 1 * MHZ, 2 * MHZ)
            self.between("the PLL's oscillator is", vco, 100 * MHZ, 432 * MHZ)
            self.between("the PLL's output Q is", vco / get("RCC.PLLCFGR", "PLLQ"), 0, 48 * MHZ)
        return int(vco / (2 * (get("RCC.PLLCFGR", "PLLP") + 1)))

    def console_hz(self) -> int:
        if self.registers.get("RCC.DCKCFGR2", "USART3SEL"):
            self.machine.forbid("the console has another clock")
        return self.bus_hz(1)

    @property
    def over_drive(self) -> bool:
        return bool(self.registers.get("PWR.CSR1", "ODSWRDY"))

    def check_limits(self) -> None:
        """Wait states of 30 MHz each, which is the row of the manual for 3.3 V."""
        over = self.over_drive
        by_scale = {3: 216 if over else 180, 2: 180 if over else 168, 1: 144, 0: 144}
        most = by_scale[self.registers.get("PWR.CR1", "VOS")]
        states = self.registers.get("FLASH.ACR", "LATENCY") + 1
        self.between("the core is", self.core_hz, 0, min(most, 30 * states) * MHZ)
        self.between("APB1 is", self.bus_hz(1), 0, (54 if over else 45) * MHZ)
        self.between("APB2 is", self.bus_hz(2), 0, (108 if over else 90) * MHZ)

    def _write_cr1(self, value: int) -> None:
        get = self.registers.get
        before = {part: get("PWR.CR1", part) for part in ("VOS", "ODEN", "ODSWEN")}
        self.registers.put("PWR.CR1", value)
        changed = {part: get("PWR.CR1", part) != old for part, old in before.items()}
        if changed["VOS"] and get("RCC.CR", "PLLON"):
            self.machine.forbid("the voltage is changed while the PLL is on")
        if (changed["ODEN"] or changed["ODSWEN"]) and self.source.name == "PLL":
            self.machine.forbid("over-drive is changed while the core runs on the PLL")
        if changed["ODSWEN"]:
            if not get("PWR.CSR1", "ODRDY"):
                self.machine.forbid("over-drive is switched to before it is ready")
            others = {"GPIOD", "GPIOF", "USART3"} & set(self.enables)
            if any(get(*self.enables[name]) for name in others):
                self.machine.forbid("over-drive is switched to while peripherals have clocks")
        for part, flag in (("ODEN", "ODRDY"), ("ODSWEN", "ODSWRDY")):
            if changed[part]:
                self.registers.later("PWR.CSR1", flag, get("PWR.CR1", part))


class Flash:
    """Sectors of one bank or of two; programming clears bits."""

    def __init__(self, machine: Machine, clock: Clock, cache: FlashCache, caches: Caches) -> None:
        self.machine, self.registers, self.cache = machine, machine.registers, cache
        self.clock, self.caches = clock, caches
        self.two_banks = False
        machine.on_reset.append(self._reset)
        machine.on_flash_write = self._program
        machine.handle("FLASH.ACR", on_write=self._write_acr)
        machine.handle("FLASH.KEYR", on_write=self._write_keyr)
        machine.handle("FLASH.SR", on_write=self._write_sr)
        machine.handle("FLASH.CR", on_write=self._write_cr)
        machine.handle("FLASH.OPTCR", on_write=lambda _: machine.forbid("the option bytes"))
        self._reset()

    def _reset(self) -> None:
        self.keys: list[int] = []
        self.erased: list[tuple[int, int]] = []
        self.registers.put("FLASH.OPTCR", 0 if self.two_banks else 1, "nDBANK")

    def sector(self, number: int) -> tuple[int, int] | None:
        """(first address, bytes) of SNB's value."""
        bank, index = divmod(number, 16)
        sizes = TWO_BANKS if self.two_banks else ONE_BANK
        if index >= len(sizes) or bank > (1 if self.two_banks else 0):
            return None
        return self.machine.flash.start + bank * BANK_BYTES + sum(sizes[:index]), sizes[index]

    def _failed(self) -> int:
        return self.registers.get("FLASH.SR") & 0xF2

    def _write_acr(self, value: int) -> None:
        self.clock.set_latency(value)
        if self.registers.get("FLASH.ACR", "ARTEN") and self.registers.get("FLASH.ACR", "ARTRST"):
            self.machine.forbid("the accelerator is reset while it is on")

    def _write_keyr(self, value: int) -> None:
        self.keys.append(value)
        if tuple(self.keys) == KEYS:
            self.registers.put("FLASH.CR", 0, "LOCK")
        elif tuple(self.keys) != KEYS[: len(self.keys)]:
            self.machine.forbid("a wrong key for the flash")

    def _write_sr(self, value: int) -> None:
        self.registers.put("FLASH.SR", self.registers.get("FLASH.SR") & ~(value & 0xF3))

    def _write_cr(self, value: int) -> None:
        if self.registers.get("FLASH.SR", "BSY"):
            self.machine.forbid("FLASH.CR is written while the flash is busy")
        if self.registers.get("FLASH.CR", "LOCK"):
            self.machine.forbid("FLASH.CR is written while it is locked")
        self.registers.put("FLASH.CR", value)
        if self.registers.get("FLASH.CR", "LOCK"):
            self.keys = []
        if self.registers.get("FLASH.CR", "STRT"):
            self.registers.put("FLASH.CR", 0, "STRT")
            sector = self.sector(self.registers.get("FLASH.CR", "SNB"))
            if self._failed() or not self.registers.get("FLASH.CR", "SER") or sector is None:
                self.registers.put("FLASH.SR", 1, "ERSERR")
                return
            self.erased.append(sector)
            self.cache.erase(*sector, may_be_cached=self.caches.enabled[1])
            self._busy()

    def _busy(self) -> None:
        self.registers.put("FLASH.SR", 1, "BSY")
        self.registers.later("FLASH.SR", "BSY", 0, reads=5)

    def _program(self, address: int, size: int, value: int) -> None:
        if self.registers.get("FLASH.SR", "BSY"):
            self.machine.forbid("the flash is written while it is busy")
        locked = self.registers.get("FLASH.CR", "LOCK")
        if locked or self._failed() or not self.registers.get("FLASH.CR", "PG"):
            self.registers.put("FLASH.SR", 1, "ERSERR")
        elif size != 4 or self.registers.get("FLASH.CR", "PSIZE") != WORDS:
            self.registers.put("FLASH.SR", 1, "PGPERR")
        elif address % 4:
            self.registers.put("FLASH.SR", 1, "PGAERR")
        else:
            at = address - self.machine.flash.start
            held = int.from_bytes(self.cache.cells[at : at + 4], "little")
            data = (held & value).to_bytes(4, "little")
            self.cache.program(address, data, written_through=True)
            self._busy()


class F767:
    """The board. The flash on the ITCM bus, which our images do not use, is left out."""

    def __init__(self) -> None:
        flash = Memory(0x08000000, 2 << 20)
        memories = [Memory(0x00000000, 16 << 10), Memory(0x20000000, 512 << 10)]
        self.machine = Machine(arm.UC_CPU_ARM_CORTEX_M7, memories, flash, stm32f767())
        self.machine.registers.reset()
        self.cache = FlashCache(self.machine)
        self.core = Core(self.machine, has_lock=True)
        self.caches = Caches(self.machine, self.cache)
        self.clock = Clock(self.machine)
        self.flash = Flash(self.machine, self.clock, self.cache, self.caches)
        self.watchdog = Watchdog(self.machine, lambda: self.clock.core_hz)
        self.gpio = Gpio(self.machine, Pin("GPIOF", 15))
        self.usart = Usart(
            self.machine,
            "USART3",
            self.gpio,
            Pin("GPIOD", 8, 7),
            Pin("GPIOD", 9, 7),
            self.clock.console_hz,
        )
