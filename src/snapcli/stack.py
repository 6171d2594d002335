"""The most stack that a linked program can take, by its deepest path of calls.

It is read from three texts. The linked code (objdump's symbols and disassembly) shows which
function calls which and what is pushed, library functions and assembly included. The compiler's
.su files say how large its frames are. The objects' relocations say whose address is taken, and
so what an indirect call may reach. What these cannot bound is an error, never a guess. Nothing
here starts a program.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from snapcli.errors import ConfigError, ToolchainError

# What firmware/port/startup.c makes of the stack: where execution begins, and the bytes that are
# in use by then. A fault starts again at the top: take_fault() below the frame that it returns
# through, report() above it.
ROOTS = {"port_reset": 0, "take_fault": 32, "report": 0}
# The core pushes eight words when it takes an exception, and one more to align them; the FPU's
# registers are not kept. No handler pushes anything below.
EXCEPTION_BYTES = 36
# Assembly of ours whose jump to a computed address calls nobody: the one enters a loop of its
# own, the other returns from an exception, to report().
_CALLS_NOBODY = frozenset({"snapnn_tile", "take_fault"})

_SYMBOL = re.compile(r"^([0-9a-f]{8}) .{5} F \S+\t([0-9a-f]{8}) +(?:\.hidden )?(\S+)$", re.M)
_LINE = re.compile(r"^ *([0-9a-f]+):\t[0-9a-f ]+\t(\S+)(?:\t([^@\n]*))?(?:@ *(.*))?$", re.M)
_RELOCATION = re.compile(r"^[0-9a-f]{8} (R_ARM_\w+) +([^\s.+]+)")
_RELOCATED = re.compile(r"^RELOCATION RECORDS FOR \[(\S+)\]:")
_CALLS = ("R_ARM_THM_CALL", "R_ARM_THM_JUMP")
_TARGET = re.compile(r"(?:^|\s)([0-9a-f]+) <")
_PUSHED = re.compile(r"\[sp, #-(\d+)\]!")
_TAKEN_OFF = re.compile(r"^sp,(?: sp,)? #(\d+)$")
_SETS_SP = re.compile(r"^(?:sp\b(?!!)|[mp]sp\b)", re.I)
_BRANCH = re.compile(r"b(?:l|[a-z]{2})?(?:\.[nw])?|cbn?z")
_ENDS = re.compile(r"b(?:\.[nw])?|bl|bx|blx|udf|tb[bh]")
# Written to, sp is what it was before a push.
_GIVES_BACK = ("add", "pop", "ldm", "vldm", "vpop", "ldr")


@dataclass(frozen=True)
class Code:
    """What is known of a linked program: objdump -t -d of it, the .su files of its sources,
    objdump -r of its objects."""

    listing: str
    frames: str
    relocations: str


@dataclass(frozen=True)
class StackBound:
    """bytes: no path takes more, the frame of an exception included; path: the functions of the
    deepest one, from the first to the last."""

    bytes: int
    path: tuple[str, ...]


@dataclass
class _Function:
    """code: its addresses. pushed: bytes by which it lowers sp, all of them added up. calls,
    jumps: where it goes, and whether it comes back. odd: what this module does not understand."""

    name: str
    code: range
    pushed: int = 0
    calls: set[int] = field(default_factory=set)
    jumps: set[int] = field(default_factory=set)
    indirect: bool = False
    odd: str = ""


def checked_stack(code: Code, reserved_bytes: int, what: str) -> StackBound:
    """The bound; a ConfigError where it is more than what is reserved."""
    bound = stack_bound(code)
    if bound.bytes > reserved_bytes:
        raise ConfigError(
            f"{what} may need {bound.bytes:,} bytes of stack, {reserved_bytes:,} are reserved: "
            f"{' > '.join(bound.path)}",
            "Use a smaller model or a bigger target.",
        )
    return bound


def stack_bound(code: Code, roots: Mapping[str, int] = ROOTS) -> StackBound:
    """roots: {function where execution begins: bytes in use by then}."""
    functions = _functions(code.listing)
    graph = _Graph(functions, _frames(code.frames), _taken(code.relocations) - set(roots))
    depths = {}
    for function in functions.by_address.values():
        if function.name in roots:
            depth, path = graph.depth(function)
            depths[function.name] = StackBound(roots[function.name] + depth + EXCEPTION_BYTES, path)
    if set(depths) != set(roots):
        raise _not_understood("its startup code is not the one that is known here")
    return max(depths.values(), key=lambda bound: bound.bytes)


class _Functions:
    """Those of the linked code, by address."""

    def __init__(self, listing: str) -> None:
        placed = {int(at, 16): (int(size, 16), name) for at, size, name in _SYMBOL.findall(listing)}
        self._starts = sorted(placed)
        self.by_address: dict[int, _Function] = {}
        for start, following in zip(self._starts, [*self._starts[1:], 1 << 32], strict=True):
            size, name = placed[start]
            end = min(start + size, following) if size else following
            self.by_address[start] = _Function(name, range(start, end))

    def at(self, address: int) -> _Function | None:
        """What lies behind the end of a function belongs to the next one: assembly may have code
        in front of its name."""
        index = bisect_right(self._starts, address) - 1
        if index >= 0 and address in self.by_address[self._starts[index]].code:
            return self.by_address[self._starts[index]]
        return self.by_address[self._starts[index + 1]] if index + 1 < len(self._starts) else None


class _Graph:
    """The calls between functions; depth() is the bytes from a function on, and the way down."""

    def __init__(
        self, functions: _Functions, frames: Mapping[str, int | None], taken: set[str]
    ) -> None:
        self._functions, self._frames = functions, frames
        self._taken = [f for f in functions.by_address.values() if f.name in taken]
        self._known: dict[int, tuple[int, tuple[str, ...]]] = {}
        self._open: list[_Function] = []  # those between a root and here

    def depth(self, function: _Function) -> tuple[int, tuple[str, ...]]:
        start = function.code.start
        if start in self._known:
            return self._known[start]
        if any(function is above for above in self._open):
            names = [above.name for above in self._open]
            raise _not_understood(f"{' > '.join([*names, function.name])} calls itself")
        self._open.append(function)
        below = max(map(self.depth, self._callees(function)), default=(0, ()))
        self._open.pop()
        self._known[start] = self._frame(function) + below[0], (function.name, *below[1])
        return self._known[start]

    def _callees(self, function: _Function) -> Iterator[_Function]:
        for target in sorted(function.calls | function.jumps):
            called = self._functions.at(target)
            if called is None:
                raise _not_understood(f"{function.name} goes to {target:#x}, where no function is")
            if called is not function or target in function.calls:
                yield called
        if function.indirect:
            if not self._taken:
                raise _not_understood(f"it is not known what {function.name} calls")
            yield from self._taken

    def _frame(self, function: _Function) -> int:
        """The larger of what the compiler says and the code shows: it does not see assembly."""
        told = self._frames.get(function.name, 0)
        if told is None:
            raise _not_understood(f"the frame of {function.name} grows with its data")
        compiled = function.name.partition(".")[0] in self._frames
        if not compiled and (function.odd or function.indirect):
            raise _not_understood(f"{function.name} has {function.odd or 'an indirect call'}")
        return max(told, function.pushed)


def _not_understood(why: str) -> ToolchainError:
    return ToolchainError(
        f"the stack of the firmware cannot be bounded: {why}",
        "If neither the firmware nor the compiler was changed, this is a bug of snap.",
    )


def _frames(text: str) -> dict[str, int | None]:
    """{function: bytes} of .su files, the largest of equal names; None: no bound is known."""
    frames: dict[str, int | None] = {}
    for line in text.splitlines():
        place, size, kind = line.split("\t")
        name = place.rpartition(":")[2]
        before = frames.get(name, 0)
        bounded = "dynamic" not in kind or "bounded" in kind
        frames[name] = max(before, int(size)) if bounded and before is not None else None
    return frames


def _taken(text: str) -> set[str]:
    """Symbols that objects refer to other than by a call; the vector table is the core's."""
    addresses, ours = set(), True
    for line in text.splitlines():
        if section := _RELOCATED.match(line):
            ours = not section[1].startswith((".vectors", ".debug", ".ARM"))
        elif (entry := _RELOCATION.match(line)) and ours and not entry[1].startswith(_CALLS):
            addresses.add(entry[2])
    return addresses


def _functions(listing: str) -> _Functions:
    """The functions, and what each instruction does."""
    functions = _Functions(listing)
    lines = [
        (int(at, 16), mnemonic, operands.strip(), comment)
        for at, mnemonic, operands, comment in _LINE.findall(listing)
    ]
    words = {at: int(operands, 0) for at, mnemonic, operands, _ in lines if mnemonic == ".word"}
    last: dict[int, bool] = {}  # whether the instruction at the end of a function goes on
    for at, mnemonic, operands, comment in lines:
        function = functions.at(at)
        if function is None or mnemonic.startswith((".", "nop")):
            continue
        _take(function, mnemonic, operands, comment, words)
        if at in function.code:
            # Behind a call the compiler knew that it does not return.
            last[function.code.start] = not (_ENDS.fullmatch(mnemonic) or "pc" in operands)
    for start, goes_on in last.items():
        if goes_on:  # assembly that runs into what follows
            functions.by_address[start].jumps.add(functions.by_address[start].code.stop)
    return functions


def _take(
    function: _Function,
    mnemonic: str,
    operands: str,
    comment: str,
    words: Mapping[int, int],
) -> None:
    """What one instruction does to the stack, and where it goes."""
    function.pushed += _pushed(mnemonic, operands)
    target = _TARGET.search(operands)
    if _BRANCH.fullmatch(mnemonic) and target:
        goes = function.calls if mnemonic == "bl" else function.jumps
        goes.add(int(target[1], 16))
    elif mnemonic in ("bx", "blx"):
        function.indirect |= operands != "lr" and function.name not in _CALLS_NOBODY
    elif re.match(r"(ldr|mov)", mnemonic) and re.match(r"pc\b", operands):
        literal = re.match(r"\(?([0-9a-f]+)", comment) if "[pc" in operands else None
        if literal:  # the linker's way to what is far away
            function.jumps.add(words[int(literal[1], 16)] & ~1)
        elif not re.search(r"\[sp\], #|, lr$", operands) and function.name not in _CALLS_NOBODY:
            function.indirect = True
    elif _SETS_SP.match(operands) and not mnemonic.startswith(_GIVES_BACK):
        if not _pushed(mnemonic, operands):
            function.odd = f"`{mnemonic} {operands}`"
    elif mnemonic.startswith("add") and _SETS_SP.match(operands) and "#" not in operands:
        function.odd = f"`{mnemonic} {operands}`"


def _pushed(mnemonic: str, operands: str) -> int:
    """Bytes by which an instruction lowers sp."""
    if mnemonic.startswith(("push", "stmdb", "vpush", "vstmdb")):
        if mnemonic.startswith(("push", "vpush")) or operands.startswith("sp!"):
            return _list_bytes(operands)
    elif (mnemonic.startswith("sub") and (less := _TAKEN_OFF.match(operands))) or (
        mnemonic.startswith(("str", "vstr")) and (less := _PUSHED.search(operands))
    ):
        return int(less[1])
    return 0


def _list_bytes(operands: str) -> int:
    """Of the registers in braces: {r4, r5, lr}, {d8-d15}, {s16}."""
    total = 0
    for part in operands[operands.index("{") + 1 : operands.index("}")].split(","):
        first, _, end = part.strip().partition("-")
        count = int(end[1:]) - int(first[1:]) + 1 if end else 1
        total += count * (8 if first.startswith("d") else 4)
    return total
