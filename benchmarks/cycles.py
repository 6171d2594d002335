"""An estimate of Cortex-M4 cycles: the instructions that ran, weighted by Arm's timing table.

An image is loaded into an emulator of the bare core, without devices, and its functions are
called by their symbols. The emulator tells which straight pieces of code it enters; what is in
them comes from the disassembly. The weights are those of the Cortex-M4 Technical Reference
Manual, "Instruction set summary" and "Load/store timings":

    data processing, every multiplication (SMLAD, SMMLAR, SMULL ...), IT           1
    a conditional instruction that is skipped                                      as if it ran
    LDR and its narrow forms                                                       2
      behind a single load that does not give its address (they overlap)           1
    STR and its narrow forms, immediate offset                                     1
    STR and its narrow forms, register offset: as LDR
    LDRD, STRD, LDM, STM, PUSH, POP of N words                                     1 + N
    a load or store whose address the data processing just before it gave          1 more
    branch, call, return, load of the program counter: when it jumps               P more
    SDIV, UDIV (2 to 12 on the core, by their operands)                            7
    TBB, TBH, MRS, MSR                                                             2

P, the time to fill the pipeline anew, is 1 to 3 on the core, by the alignment of the target; it
is taken as 2. Not in it: wait states of a flash and contention on the bus, so memory answers at
once; unaligned accesses, which cost a cycle or two more; literals, which may. What starts a
straight piece overlaps with nothing before it. It is an estimate: no core was measured.
"""

import bisect
import re
import struct
import subprocess
from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

import unicorn
from unicorn import arm_const as arm

from snapcli import toolchain

OBJDUMP = "arm-none-eabi-objdump"
PAGE = 4096
LOADED = 1  # PT_LOAD of an ELF file
REFILL = 2  # P
DIVISION = 7

_SYMBOL = re.compile(r"^([0-9a-f]{8}) (.{7}) \S+\t[0-9a-f]+ (\S+)$", re.MULTILINE)
_LINE = re.compile(r"^ +([0-9a-f]+):\t([^\s.]+)\S*(?:\t([^;@\n]*))?", re.MULTILINE)
_ADDRESS = re.compile(r"\[([^]]*)\]|^(\w+)!?, \{")
_REGISTER = re.compile(r"\b(?:r\d+|sl|fp|ip|sp|lr|pc)\b")
_SLOW = {"sdiv": DIVISION, "udiv": DIVISION, "tbb": 2, "tbh": 2, "mrs": 2, "msr": 2}
_MULTIPLE = ("ldm", "stm", "push", "pop")
_DOUBLE = ("ldrd", "strd")
_NO_RESULT = ("cmp", "cmn", "tst", "teq", "b", "cb", "it", "nop")
_TWO_RESULTS = ("smull", "umull", "smlal", "smlsl", "umlal", "umaal")
_BIT_FIELDS = ("bic", "bfi", "bfc")  # which begin like a branch


@dataclass(frozen=True)
class Mix:
    """What a call took, by function."""

    instructions: Counter[str]
    cycles: Counter[str]


@dataclass(frozen=True)
class Instruction:
    """As the disassembler writes it; name without condition flags or width."""

    name: str
    operands: str

    @property
    def is_single_load(self) -> bool:
        return self.name.startswith("ldr") and not self.name.startswith(_DOUBLE)

    @property
    def is_single_store(self) -> bool:
        return self.name.startswith("str") and not self.name.startswith(_DOUBLE)

    @property
    def is_memory(self) -> bool:
        return self.name.startswith(("ldr", "str", *_MULTIPLE))

    @property
    def address(self) -> set[str]:
        """The registers that make up the address."""
        found = _ADDRESS.search(self.operands)
        return set(_REGISTER.findall(found[0])) if found and self.is_memory else set()

    @property
    def results(self) -> set[str]:
        """The registers that data processing or a single load writes."""
        if self.is_memory and not self.is_single_load:
            return set()
        if self.name.startswith(_NO_RESULT) and not self.name.startswith(_BIT_FIELDS):
            return set()
        count = 2 if self.name.startswith(_TWO_RESULTS) else 1
        return {operand.strip() for operand in self.operands.split(",")[:count]}

    def cycles(self, before: "Instruction") -> int:
        """Without the jump that it may make; before: what ran just before it."""
        if self.name.startswith("v"):
            raise ValueError(f"no timing for floating point: {self.name} {self.operands}")
        depends = bool(self.address & before.results)
        stall = int(depends and not before.is_memory)
        if self.name.startswith(_DOUBLE):
            return 3 + stall
        if self.name.startswith(_MULTIPLE):
            return 1 + len(_REGISTER.findall(self.operands.partition("{")[2])) + stall
        indexed = len(self.address) == 2
        if self.is_single_load or (self.is_single_store and indexed):
            overlaps = before.is_single_load and not depends
            return (1 if overlaps else 2) + stall
        return _SLOW.get(self.name, 1) + stall


NOTHING = Instruction("nop", "")


class Image:
    """A linked program in the emulator; symbols: {name: address}."""

    def __init__(self, elf: Path) -> None:
        command = [str(toolchain.find_tool(OBJDUMP)), "-t", "-d", "--no-show-raw-insn", str(elf)]
        listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        found = [(int(at, 16), kind, name) for at, kind, name in _SYMBOL.findall(listing)]
        self.symbols = {name: at for at, _, name in found}
        functions = {at: name for at, kind, name in found if kind.endswith("F")}
        self._functions = sorted(functions.items())
        code = {int(at, 16): Instruction(name, rest) for at, name, rest in _LINE.findall(listing)}
        self._addresses = sorted(code)
        self._code = [code[at] for at in self._addresses]
        self._uc = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS)
        self._uc.ctl_set_cpu_model(arm.UC_CPU_ARM_CORTEX_M4)
        self._load(elf.read_bytes())
        # (start, length) of a piece of code, and where it went on -> how often.
        self._passed: Counter[tuple[int, int, int]] = Counter()
        self._piece = (0, 0)
        # Always there: what has been translated without a hook stays without it.
        self._uc.hook_add(unicorn.UC_HOOK_BLOCK, self._enter)
        self._cost = cache(self._straight)

    def _load(self, data: bytes) -> None:
        """Initialized data lies where it is used, as if the startup code had run."""
        (table,) = struct.unpack_from("<28xI", data)
        each, count = struct.unpack_from("<42xHH", data)
        mapped: set[int] = set()  # segments share pages
        for place in range(table, table + each * count, each):
            kind, offset, at, _, stored, used = struct.unpack_from("<6I", data, place)
            if kind != LOADED:
                continue
            pages = set(range(at // PAGE * PAGE, at + used, PAGE)) - mapped
            for page in pages:
                self._uc.mem_map(page, PAGE)
            mapped |= pages
            self._uc.mem_write(at, data[offset : offset + stored])

    def read(self, address: int, count: int) -> bytes:
        return bytes(self._uc.mem_read(address, count))

    def write(self, address: int, data: bytes) -> None:
        self._uc.mem_write(address, data)

    def call(self, function: str, *arguments: int) -> int:
        """What it returns; at most four arguments."""
        registers = (arm.UC_ARM_REG_R0, arm.UC_ARM_REG_R1, arm.UC_ARM_REG_R2, arm.UC_ARM_REG_R3)
        for register, value in zip(registers, arguments, strict=False):
            self._uc.reg_write(register, value)
        self._uc.reg_write(arm.UC_ARM_REG_SP, self.symbols["port_stack_top"])
        back = self.symbols["main"]  # which nothing but the startup code calls
        self._uc.reg_write(arm.UC_ARM_REG_LR, back | 1)
        self._uc.emu_start(self.symbols[function] | 1, back)
        return int(self._uc.reg_read(arm.UC_ARM_REG_R0))

    def count(self, function: str, *arguments: int) -> Mix:
        """Call it and add up what ran."""
        self._passed.clear()
        self._piece = (0, 0)
        self.call(function, *arguments)
        self._enter(self._uc, self.symbols["main"], 0, None)
        del self._passed[0, 0, self.symbols[function]]
        mix = Mix(Counter(), Counter())
        for (at, length, following), times in self._passed.items():
            instructions, cycles = self._cost(at, length)
            jumps = following != at + length
            name = self._function(at)
            mix.instructions[name] += times * instructions
            mix.cycles[name] += times * (cycles + REFILL * jumps)
        return mix

    def _enter(self, _uc: unicorn.Uc, address: int, length: int, _data: object) -> None:
        """The emulator enters a straight piece of code, so it has left the one before."""
        self._passed[(*self._piece, address)] += 1
        self._piece = (address, length)

    def _straight(self, at: int, length: int) -> tuple[int, int]:
        """(instructions, cycles) of a piece of code that is run from its start to its end."""
        first, end = (bisect.bisect_left(self._addresses, place) for place in (at, at + length))
        piece = self._code[first:end]
        cycles = sum(one.cycles(last) for last, one in pairwise([NOTHING, *piece]))
        return len(piece), cycles

    def _function(self, at: int) -> str:
        return self._functions[bisect.bisect_right(self._functions, at, key=lambda f: f[0]) - 1][1]


def inference(elf: Path, output_bytes: int) -> tuple[Mix, tuple[int, ...]]:
    """What one run of the model in an image of engine.c takes, and its int8 output."""
    image = Image(elf)
    image.call("fill_input")
    mix = image.count("snap_model_run", image.symbols["arena"])
    output = image.read(image.call("output_values"), output_bytes)
    return mix, struct.unpack(f"{output_bytes}b", output)
