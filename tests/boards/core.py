"""What the core itself has: reset request, cycle counter, FPU switch, and on the M7 caches."""

from .machine import Machine

UNLOCK = 0xC5ACCE55
LINE = 32
ERASED = b"\xff" * LINE


class Core:
    """counter: what CYCCNT was set to when the model's cycles were counter_base."""

    def __init__(self, machine: Machine, has_lock: bool) -> None:
        self.machine, self.registers, self.has_lock = machine, machine.registers, has_lock
        machine.on_reset.append(self._reset)
        machine.handle("SCB.AIRCR", on_write=self._write_aircr)
        machine.handle("DWT.CTRL", on_write=self._write_ctrl)
        machine.handle("DWT.CYCCNT", on_read=self._read_count, on_write=self.set_counter)
        machine.handle("DWT.LAR", on_write=self._write_lar)
        self._reset()

    def _reset(self) -> None:
        self.unlocked = not self.has_lock
        self.counting = False
        self.counter_base, self.counter = 0, 0

    @property
    def fpu_enabled(self) -> bool:
        return all(self.registers.get("SCB.CPACR", part) == 3 for part in ("CP10", "CP11"))

    def _write_aircr(self, value: int) -> None:
        if value >> 16 != 0x05FA:
            self.machine.forbid(f"AIRCR without its key: {value:#x}")
        if value & self.registers.mask("SCB.AIRCR", "SYSRESETREQ"):
            self.machine.stop("reset")

    def _write_lar(self, value: int) -> None:
        self.unlocked = value == UNLOCK or not self.has_lock

    def _write_ctrl(self, value: int) -> None:
        if not self.registers.get("SCB.DEMCR", "TRCENA"):
            self.machine.forbid("the DWT is used before TRCENA")
        if self.unlocked:  # else nothing happens
            self.set_counter(self._read_count())
            self.registers.put("DWT.CTRL", value)
            self.counting = bool(self.registers.get("DWT.CTRL", "CYCCNTENA"))

    def _read_count(self) -> int:
        passed = self.machine.cycles - self.counter_base if self.counting else 0
        return self.counter + passed & 0xFFFFFFFF

    def set_counter(self, value: int) -> None:
        self.counter, self.counter_base = value, self.machine.cycles


class FlashCache:
    """Lines that a cache may still hold after the flash below changed: the worst is assumed.

    The emulated memory is what the CPU sees; `cells` is what the flash holds.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.enabled = False
        self.stale: dict[int, bytearray] = {}
        self.worn: set[int] = set()  # addresses whose bits stay as they are when programmed
        self.cells = bytearray()

    def take(self) -> None:
        """After a program was loaded."""
        flash = self.machine.flash
        self.cells = bytearray(self.machine.uc.mem_read(flash.start, flash.count))

    def _line(self, line: int) -> None:
        at = line - self.machine.flash.start
        hidden = self.stale.get(line) if self.enabled else None
        self.machine.uc.mem_write(line, bytes(hidden or self.cells[at : at + LINE]))

    def erase(self, start: int, count: int, may_be_cached: bool) -> None:
        first = start - self.machine.flash.start
        if may_be_cached:
            for at in range(first, first + count, LINE):
                held = self.cells[at : at + LINE]
                if held != ERASED:
                    self.stale.setdefault(self.machine.flash.start + at, held)
        self.cells[first : first + count] = b"\xff" * count
        if not (self.enabled and may_be_cached):
            self.machine.uc.mem_write(start, b"\xff" * count)

    def program(self, address: int, data: bytes, written_through: bool) -> None:
        at = address - self.machine.flash.start
        for offset, byte in enumerate(data):
            if address + offset not in self.worn:
                self.cells[at + offset] = byte
        line = address & ~(LINE - 1)
        if written_through and line in self.stale:
            self.stale[line][address - line : address - line + len(data)] = data
        self._line(line)

    def invalidate(self, line: int) -> None:
        if self.stale.pop(line, None) is not None:
            self._line(line)

    def invalidate_all(self) -> None:
        for line in list(self.stale):
            self.invalidate(line)

    def enable(self, enabled: bool) -> None:
        if enabled != self.enabled:
            self.enabled = enabled
            for line in self.stale:
                self._line(line)


class Caches:
    """Instruction and data cache of the M7: both must be invalidated before they are used."""

    def __init__(self, machine: Machine, flash: FlashCache) -> None:
        self.machine, self.registers, self.flash = machine, machine.registers, flash
        machine.on_reset.append(self._reset)
        machine.handle("SCB.CCR", on_write=self._write_ccr)
        machine.handle("SCB.ICIALLU", on_write=self._write_iciallu)
        machine.handle("SCB.DCISW", on_write=self._write_dcisw)
        machine.handle("SCB.DCIMVAC", on_write=lambda value: flash.invalidate(value & ~(LINE - 1)))
        self._reset()

    def _reset(self) -> None:
        self.instructions_clean = False
        self.sets_and_ways: set[tuple[int, int]] = set()
        self.flash.enabled = False
        self.flash.invalidate_all()

    @property
    def enabled(self) -> tuple[bool, bool]:
        """(instruction, data)"""
        instructions, data = (self.registers.get("SCB.CCR", part) for part in ("IC", "DC"))
        return bool(instructions), bool(data)

    def _write_iciallu(self, value: int) -> None:
        self.instructions_clean = True

    def _write_dcisw(self, value: int) -> None:
        if self.enabled[1]:
            self.machine.forbid("data that is not written back yet would be lost")
        if self.registers.get("SCB.CSSELR") != 0:
            self.machine.forbid("CSSELR does not select the data cache")
        self.sets_and_ways.add((value >> 5 & 0x7F, value >> 30))

    def _write_ccr(self, value: int) -> None:
        self.registers.put("SCB.CCR", value)
        instructions, data = self.enabled
        if instructions and not self.instructions_clean:
            self.machine.forbid("the instruction cache is used without invalidating it")
        size = self.registers.get
        wanted = (size("SCB.CCSIDR", "NUMSETS") + 1) * (size("SCB.CCSIDR", "ASSOCIATIVITY") + 1)
        if data and not self.flash.enabled and len(self.sets_and_ways) != wanted:
            self.machine.forbid(
                f"only {len(self.sets_and_ways)} of {wanted} lines of data are invalidated"
            )
        self.flash.enable(data)
