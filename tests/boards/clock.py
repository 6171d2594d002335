"""The clock tree: what frequency each bus has, and whether the part stands it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .description import Register
from .machine import Machine


@dataclass(frozen=True)
class Source:
    """An oscillator or PLL. name: of its fields in RCC.CR, NAMEON and NAMERDY."""

    name: str
    hz: Callable[[], int]


class ClockTree:
    """sources: by their number in RCC.CFGR.SW. broken: names of those that never get ready."""

    def __init__(self, machine: Machine, sources: Mapping[int, Source]) -> None:
        self.machine, self.registers, self.sources = machine, machine.registers, sources
        self.broken: set[str] = set()
        self.highest_hz = 0
        machine.handle("RCC.CR", on_write=self._write_cr)
        machine.handle("RCC.CFGR", on_write=self._write_cfgr)
        machine.handle("RCC.PLLCFGR", on_write=self._write_pllcfgr)
        machine.before_access.append(self._check_enabled)
        machine.after_write.append(self._check)
        # {peripheral: (register, field) that gives it its clock}
        self.enables = {
            field.removesuffix("EN"): (name, field)
            for name, register in self.registers.description.items()
            if name.startswith("RCC.") and "ENR" in name and "SMENR" not in name
            for field in register.fields
        }

    # ---- Frequencies ---------------------------------------------------------

    def source_hz(self, name: str) -> int:
        return next(source.hz() for source in self.sources.values() if source.name == name)

    @property
    def source(self) -> Source:
        return self.sources[self.registers.get("RCC.CFGR", "SW")]

    @property
    def core_hz(self) -> int:
        prescaler = self.registers.get("RCC.CFGR", "HPRE")
        shift = 0 if prescaler < 8 else prescaler - 7 if prescaler < 12 else prescaler - 6
        return self.source.hz() >> shift

    def bus_hz(self, bus: int) -> int:
        """Of APB1 or APB2."""
        prescaler = self.registers.get("RCC.CFGR", f"PPRE{bus}")
        return self.core_hz >> max(0, prescaler - 3)

    def is_ready(self, name: str) -> bool:
        return bool(self.registers.get("RCC.CR", f"{name}RDY"))

    def check_limits(self) -> None:
        """Forbids a clock that voltage or wait states do not allow."""
        raise NotImplementedError

    # ---- Rules ------------------------------------------------------------------

    def _check(self, written: Register) -> None:
        if written.name.startswith(("RCC.", "PWR.", "FLASH.")):
            self.highest_hz = max(self.highest_hz, self.core_hz)
            self.check_limits()

    def _check_enabled(self, register: Register) -> None:
        enable = self.enables.get(register.name.partition(".")[0])
        if enable and not self.registers.get(*enable):
            self.machine.forbid(f"{register.name} is used without its clock")

    def starts(self, name: str) -> bool:
        """Whether a source that is switched on gets ready."""
        return name not in self.broken

    def _write_cr(self, value: int) -> None:
        names = [source.name for source in self.sources.values()]
        before = {name: self.registers.get("RCC.CR", f"{name}ON") for name in names}
        ready = self.registers.mask("RCC.CR", *(f"{name}RDY" for name in names))
        kept = self.registers.get("RCC.CR") & ready
        self.registers.put("RCC.CR", value & ~ready | kept)
        for name in names:
            on = self.registers.get("RCC.CR", f"{name}ON")
            if on and not before[name] and self.starts(name):
                self.registers.later("RCC.CR", f"{name}RDY", 1, reads=8)
            elif before[name] and not on:
                self.registers.later("RCC.CR", f"{name}RDY", 0, reads=0)
                if name == self.source.name:
                    self.machine.forbid(f"{name} is switched off while the core runs on it")

    def _write_cfgr(self, value: int) -> None:
        mask = self.registers.mask("RCC.CFGR", "SWS")
        self.registers.put("RCC.CFGR", value & ~mask | self.registers.get("RCC.CFGR") & mask)
        if not self.is_ready(self.source.name):
            self.machine.forbid(f"the core is switched to {self.source.name}, which is not ready")
        self.registers.later("RCC.CFGR", "SWS", self.registers.get("RCC.CFGR", "SW"))

    def _write_pllcfgr(self, value: int) -> None:
        if self.registers.get("RCC.CR", "PLLON"):
            self.machine.forbid("PLLCFGR is written while the PLL is on")
        self.registers.put("RCC.PLLCFGR", value)

    def between(self, what: str, hz: float, least: float, most: float) -> None:
        if not least <= hz <= most:
            self.machine.forbid(f"{what} at {hz / 1e6:g} MHz")
