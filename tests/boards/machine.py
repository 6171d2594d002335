"""A part in the emulator: memories, registers, and rules that the real part would enforce.

Peripherals are classes that take over registers of the description; a register that nobody
takes over keeps what is written. Whatever the manual forbids, and every address outside of
the part's map, ends a run with PartError.
"""

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import unicorn
from unicorn import arm_const as arm

from .description import Description, Register

PAGE = 0x400  # of the emulator: the largest alignment that all peripherals have
RUN_LIMIT_US = 300_000_000  # by the clock of a machine that may be busy


class PartError(AssertionError):
    """The program did what the part does not allow."""


@dataclass(frozen=True)
class Memory:
    start: int
    count: int
    executable: bool = True


@dataclass
class Handler:
    """on_read() -> value; on_write(value): both in place of the plain register."""

    on_read: Callable[[], int] | None = None
    on_write: Callable[[int], None] | None = None


@dataclass
class Registers:
    """The values of all registers. Bits that the hardware changes do so after some reads."""

    description: Description
    values: dict[str, int] = field(default_factory=dict)
    handlers: dict[str, Handler] = field(default_factory=dict)
    pending: dict[str, list[tuple[int, str, int]]] = field(default_factory=dict)

    def reset(self) -> None:
        self.values = {name: register.reset for name, register in self.description.items()}
        self.pending = {}

    def get(self, name: str, part: str | None = None) -> int:
        """The value of a register or of a field in it."""
        if part is None:
            return self.values[name]
        first, bits = self.description[name].fields[part]
        return self.values[name] >> first & ((1 << bits) - 1)

    def put(self, name: str, value: int, part: str | None = None) -> None:
        if part is not None:
            first, bits = self.description[name].fields[part]
            mask = ((1 << bits) - 1) << first
            value = self.values[name] & ~mask | value << first & mask
        self.values[name] = value & 0xFFFFFFFF

    def mask(self, name: str, *parts: str) -> int:
        fields = self.description[name].fields
        return sum(((1 << fields[part][1]) - 1) << fields[part][0] for part in parts)

    def later(self, name: str, part: str, value: int, reads: int = 3) -> None:
        """The field gets the value after that many reads of its register."""
        waiting = self.pending.setdefault(name, [])
        waiting[:] = [entry for entry in waiting if entry[1] != part]
        waiting.append((reads, part, value))

    def tick(self, name: str) -> None:
        """One read of the register."""
        for reads, part, value in self.pending.pop(name, []):
            if reads == 0:
                self.put(name, value, part)
            else:
                self.pending.setdefault(name, []).append((reads - 1, part, value))


class Machine:
    """A CPU with the memories and registers of a part; peripherals attach to it.

    cycles: halfwords of code that were run, as an instruction counter of the model.
    """

    def __init__(
        self, cpu: int, memories: Iterable[Memory], flash: Memory, description: Description
    ) -> None:
        self.uc = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS)
        self.uc.ctl_set_cpu_model(cpu)
        self.registers = Registers(description)
        self.cycles = 0
        self.violation: PartError | None = None
        self.on_reset: list[Callable[[], None]] = []
        self.after_write: list[Callable[[Register], None]] = []
        self.before_access: list[Callable[[Register], None]] = []
        self.before_block: list[Callable[[], None]] = []
        self._stop: str | None = None
        self.faults = 0

        code = unicorn.UC_PROT_READ | unicorn.UC_PROT_EXEC
        for memory in memories:
            rights = unicorn.UC_PROT_ALL if memory.executable else code ^ unicorn.UC_PROT_EXEC
            self.uc.mem_map(memory.start, memory.count, rights | unicorn.UC_PROT_WRITE)
        self.flash = flash
        self.uc.mem_map(flash.start, flash.count, code)
        self.uc.mem_write(flash.start, b"\xff" * flash.count)
        self._by_address = {register.address: register for register in description.values()}
        for page in sorted({address & ~(PAGE - 1) for address in self._by_address}):
            self.uc.mmio_map(page, PAGE, self._read, page, self._write, page)
        self.uc.hook_add(unicorn.UC_HOOK_BLOCK, self._block)
        self.uc.hook_add(unicorn.UC_HOOK_INTR, self._exception)
        self.uc.hook_add(unicorn.UC_HOOK_MEM_UNMAPPED, self._unmapped)
        self.uc.hook_add(unicorn.UC_HOOK_MEM_PROT, self._protected)
        self.on_flash_write: Callable[[int, int, int], None] | None = None

    # ---- What a test does ----------------------------------------------------

    def load(self, elf: Path) -> None:
        """Put the segments where they are loaded, which is into the flash, and reset."""
        data = elf.read_bytes()
        assert data[:6] == b"\x7fELF\x01\x01", "32-bit, little-endian"
        start, (size, count) = (
            struct.unpack_from("<28xI", data)[0],
            struct.unpack_from("<42xHH", data),
        )
        for index in range(count):
            kind, offset, _, load, stored = struct.unpack_from("<5I", data, start + index * size)
            if kind == 1 and stored:
                assert self.flash.start <= load <= self.flash.start + self.flash.count - stored
                self.uc.mem_write(load, data[offset : offset + stored])
        self.reset()

    def reset(self) -> None:
        """As the reset pin does it: memories keep what they hold."""
        self.registers.reset()
        for action in self.on_reset:
            action()
        stack, entry = struct.unpack("<II", self.uc.mem_read(self.flash.start, 8))
        if not entry & 1:
            raise PartError(f"the reset vector {entry:#x} is no Thumb code")
        for register in (arm.UC_ARM_REG_MSP, arm.UC_ARM_REG_SP):
            self.uc.reg_write(register, stack)
        self.uc.reg_write(arm.UC_ARM_REG_PC, entry)

    def run(self) -> None:
        """Until the program waits for input (stop() is called) or does something forbidden."""
        while True:
            self._stop = None
            program_counter = self.uc.reg_read(arm.UC_ARM_REG_PC) | 1
            try:
                self.uc.emu_start(program_counter, 0xFFFFFFFE, timeout=RUN_LIMIT_US)
            except unicorn.UcError as error:
                if self.violation is None:
                    self.forbid(f"{error} at {self._where()}")
            if self.violation:
                raise self.violation
            if self._stop == "reset":
                self.reset()
                continue
            if self._stop is None:
                raise PartError(f"no end after {RUN_LIMIT_US // 1000} ms at {self._where()}")
            return

    def fault_on_read(self, start: int, count: int) -> Callable[[], None]:
        """Whoever reads there restarts, as our handler of the fault does; the call that ends it.
        NMIs and bus faults themselves are QEMU's to show."""

        def read(uc: unicorn.Uc, access: int, address: int, size: int, *_: object) -> None:
            self.faults += 1
            self.stop("reset")

        hook = self.uc.hook_add(unicorn.UC_HOOK_MEM_READ, read, begin=start, end=start + count - 1)
        self.uc.ctl_flush_tb()  # code that was translated before knows nothing of it
        return lambda: self.uc.hook_del(hook)

    def poke(self, name: str, value: int) -> None:
        """Write a register as the program would, and say what the part says to that."""
        address = self.registers.description[name].address
        self._write(self.uc, address & (PAGE - 1), 4, value, address & ~(PAGE - 1))
        if self.violation:
            raise self.violation

    def peek(self, name: str) -> int:
        """Read a register as the program would."""
        address = self.registers.description[name].address
        value = self._read(self.uc, address & (PAGE - 1), 4, address & ~(PAGE - 1))
        if self.violation:
            raise self.violation
        return value

    # ---- What peripherals do ---------------------------------------------------

    def stop(self, reason: str = "idle") -> None:
        self._stop = reason
        self.uc.emu_stop()

    def forbid(self, message: str) -> None:
        """The run ends with this error; the first one counts."""
        self.violation = self.violation or PartError(message)
        self.uc.emu_stop()

    def handle(self, name: str, **handlers: Any) -> None:
        self.registers.handlers[name] = Handler(**handlers)

    # ---- What the emulator calls --------------------------------------------------

    def _where(self) -> str:
        return f"pc {self.uc.reg_read(arm.UC_ARM_REG_PC):#010x}"

    def _find(self, address: int, size: int) -> Register | None:
        register = self._by_address.get(address)
        if register is None:
            self.forbid(f"there is no register at {address:#010x} ({self._where()})")
        elif size != 4:
            self.forbid(f"{size} bytes of {register.name} ({self._where()})")
        else:
            for check in self.before_access:
                check(register)
            return register
        return None

    def _read(self, uc: unicorn.Uc, offset: int, size: int, page: int) -> int:
        register = self._find(page + offset, size)
        if register is None:
            return 0
        if not register.readable:
            self.forbid(f"{register.name} is write-only ({self._where()})")
        self.registers.tick(register.name)
        handler = self.registers.handlers.get(register.name)
        if handler and handler.on_read:
            return handler.on_read()
        return self.registers.get(register.name)

    def _write(self, uc: unicorn.Uc, offset: int, size: int, value: int, page: int) -> None:
        register = self._find(page + offset, size)
        if register is None:
            return
        if not register.writable:
            self.forbid(f"{register.name} is read-only ({self._where()})")
        handler = self.registers.handlers.get(register.name)
        if handler and handler.on_write:
            handler.on_write(value)
        else:
            self.registers.put(register.name, value)
        for action in self.after_write:
            action(register)

    def _block(self, uc: unicorn.Uc, address: int, size: int, data: object) -> None:
        self.cycles += size // 2
        for look in self.before_block:
            look()

    def _exception(self, uc: unicorn.Uc, number: int, data: object) -> None:
        self.forbid(f"exception {number} at {self._where()}")

    def _unmapped(
        self, uc: unicorn.Uc, access: int, address: int, size: int, value: int, data: object
    ) -> bool:
        self.forbid(f"{address:#010x} is outside of the part's map ({self._where()})")
        return False

    def _protected(
        self, uc: unicorn.Uc, access: int, address: int, size: int, value: int, data: object
    ) -> bool:
        inside = 0 <= address - self.flash.start < self.flash.count
        if access == unicorn.UC_MEM_WRITE_PROT and inside and self.on_flash_write:
            self.on_flash_write(address, size, value & ((1 << 8 * size) - 1))
            return True
        self.forbid(f"{address:#010x} does not allow this access ({self._where()})")
        return False
