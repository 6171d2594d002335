"""The independent watchdog: the same on both parts."""

from collections.abc import Callable

from .machine import Machine

LSI_HZ = 32_000
START, UNLOCK, FEED = 0xCCCC, 0x5555, 0xAAAA


class Watchdog:
    """Resets the part when nobody feeds it; expired: how often it did. lsi_hz: of this part."""

    def __init__(self, machine: Machine, core_hz: Callable[[], int]) -> None:
        self.machine, self.registers, self.core_hz = machine, machine.registers, core_hz
        self.lsi_hz = LSI_HZ
        self.expired = 0
        machine.on_reset.append(self._reset)
        machine.before_block.append(self._look)
        machine.handle("IWDG.KR", on_write=self._write_key)
        machine.handle("IWDG.PR", on_write=lambda value: self._write("PR", value, "PVU"))
        machine.handle("IWDG.RLR", on_write=lambda value: self._write("RLR", value, "RVU"))
        self._reset()

    def _reset(self) -> None:
        self.running = self.unlocked = False
        self.fed_at = 0

    @property
    def period_s(self) -> float:
        counts = self.registers.get("IWDG.RLR") + 1
        return counts * (4 << self.registers.get("IWDG.PR")) / self.lsi_hz

    def _write_key(self, value: int) -> None:
        self.unlocked = value == UNLOCK
        self.running |= value == START
        if value in (START, FEED):
            self.fed_at = self.machine.cycles

    def _write(self, name: str, value: int, flag: str) -> None:
        if not self.unlocked or self.registers.get("IWDG.SR", flag):
            self.machine.forbid(f"IWDG.{name} is written while it is locked or busy")
        self.registers.put(f"IWDG.{name}", value)
        self.registers.put("IWDG.SR", 1, flag)
        self.registers.later("IWDG.SR", flag, 0, reads=5)

    def _look(self) -> None:
        if self.running:
            hungry_s = (self.machine.cycles - self.fed_at) / self.core_hz()
            if hungry_s > self.period_s:
                self.expired += 1
                self.running = False
                self.machine.stop("reset")
