"""The only place that starts the compiler, its companions, the emulator, flashers, git and pip."""

import ctypes
import errno
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from snapcli import object_cache, used
from snapcli.assets import asset_dir
from snapcli.errors import ConfigError, DeviceError, ToolchainError, UsageError
from snapcli.stack import Code
from snapcli.targets import LIMITS, Target

GCC = "arm-none-eabi-gcc"
SIZE = "arm-none-eabi-size"
OBJCOPY = "arm-none-eabi-objcopy"
OBJDUMP = "arm-none-eabi-objdump"
AR = "arm-none-eabi-ar"
QEMU = "qemu-system-arm"
CC = "cc"
OPENOCD = "openocd"
ST_FLASH, ST_INFO = "st-flash", "st-info"
GIT = "git"

_APT = {
    QEMU: "sudo apt-get install qemu-system-arm",
    GCC: "sudo apt-get install gcc-arm-none-eabi libnewlib-arm-none-eabi",
    CC: "sudo apt-get install gcc",
    OPENOCD: "sudo apt-get install openocd",
    ST_FLASH: "sudo apt-get install stlink-tools",
    ST_INFO: "sudo apt-get install stlink-tools",
}

_COMPILE_FLAGS = (
    *("-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-Wmissing-prototypes"),
    *("-ffunction-sections", "-fdata-sections", "-fno-common", "-fstack-usage"),
)
RUN_S = 600
LOOK_S, WRITE_S = 30.0, 300.0  # 2 MB at 10 KB/s, and the time to erase them
_GIT_S = 10.0
_ENDING_S = 2.0
_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_COMPLAINT = re.compile(
    r"error|fail|unable|cannot|could ?n[o']t|denied|invalid|no .*(available|found|match)", re.I
)
_REFUSED = re.compile(r"LIBUSB_ERROR_ACCESS|permission|denied|errno 13\b", re.I)
# The time and the level that pyOCD, stlink and OpenOCD put in front of a line.
_LOG_PREFIX = re.compile(r"^(\d{7} [A-Z] |[\d-]+T[\d:]+ [A-Z]+ \S+: |Error: )")
UDEV_HINT = (
    "Allow your user to use the probe: sudo apt-get install stlink-tools brings the udev rules;"
    " then plug it in again."
)
_MUST_COMPILE = (
    "Generated code has to compile: if neither it nor CMSIS-NN is changed, this is a bug of snap."
)
HOST_FLAGS: tuple[str, ...] = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Werror")
_SANITIZE = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
# An orphan section is an error because no size below would count it.
_LINK_FLAGS = (
    *("-nostartfiles", "--specs=nano.specs"),
    *("-Wl,--gc-sections", "-Wl,--orphan-handling=error", "-Wl,--fatal-warnings"),
)

# What names a file, a symbol or a value of a build's own says nothing of how it was compiled.
_NAMING = (
    *("-c", "-o", "-D", "-I", "-T", "-ffile-prefix-map=", "-Wl,-Map=", "-Wl,--defsym="),
    *("-Wl,-u,", "-Wl,-e,"),
)

# What the preprocessor has used up: its output says it all.
_PREPROCESSED = ("-D", "-I", "-ffile-prefix-map=")

# The names are fixed by firmware/port/sections.ld. Initialized data is in both:
# flash keeps the values that the startup code copies to RAM.
_IMAGE_SECTIONS = (".vectors", ".itcm", ".text", ".rodata", ".data")  # what the CRC covers
_CRC_SECTION = ".image_crc"
_FLASH_SECTIONS = (*_IMAGE_SECTIONS, _CRC_SECTION, ".own_settings")
_RAM_SECTIONS = (".stack", ".kept", ".data", ".bss")


@dataclass(frozen=True)
class Build:
    """A linked program and what it takes of the board's memory."""

    elf: Path
    bin: Path
    map: Path
    flash_bytes: int  # code, constants and the initial values of data
    ram_bytes: int  # data, bss and the reserved stack
    sections: Mapping[str, int]  # name -> bytes, loaded or reserved sections only
    image_bytes: int  # of flash from its start: all but the CRC and the settings behind it
    image_crc: int  # CRC-32 of them
    code: Code = field(repr=False)  # what tells how much stack it may take


@dataclass(frozen=True)
class Library:
    """Compiled code to link, and what all of it takes of a part's memory."""

    archive: Path
    flash_bytes: int  # code, constants and the initial values of data
    ram_bytes: int  # data and bss


def firmware_dir() -> Path:
    """The C sources: those of the checkout, or those packed into the wheel."""
    return asset_dir("firmware")


def app_sources() -> list[Path]:
    """The bench program, which needs a generated model to link."""
    return sorted((firmware_dir() / "app").glob("*.c"))


def find_tool(name: str) -> Path:
    """The program of that name on the PATH."""
    path = shutil.which(name)
    if path is None:
        raise ToolchainError(f"{name} is not installed.", _APT.get(name, _APT[GCC]))
    return Path(path)


def remedy(name: str) -> str | None:
    """The command that installs a tool; None: it is there."""
    return None if shutil.which(name) else _APT[name]


def tool_version(name: str) -> str:
    """The version number in the first line a tool prints about itself."""
    done = _run([name, "--version"])
    line = (done.stdout or done.stderr).partition("\n")[0]
    match = re.search(r"\d+\.\d+(\.\d+)?(?![\w.])", line)
    return match[0] if match else line.strip()


def git_commit(root: Path) -> str | None:
    """The commit that is checked out at root, with -dirty if tracked files were changed; None
    where git is missing or refuses."""
    # Named, so that no other repository is taken for it, not even by a hook that calls us.
    place = [f"--git-dir={root / '.git'}", f"--work-tree={root}", "--no-optional-locks"]
    options = ["--always", "--abbrev=40", "--exclude=*", "--dirty"]
    try:
        done = subprocess.run(
            [GIT, *place, "describe", *options],
            cwd=root,
            env={key: value for key, value in os.environ.items() if not key.startswith("GIT_")},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_GIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None


def newlib() -> bool:
    """Whether the compiler finds the small C library that images link."""
    try:
        answer = _run([GCC, "-print-file-name=nano.specs"]).stdout.strip()
    except ToolchainError:
        return False
    return os.path.isabs(answer)


def build(
    target: Target,
    sources: Sequence[Path],
    include_dirs: Sequence[Path],
    defines: Mapping[str, str],
    out_dir: Path,
    name: str = "firmware",
) -> Build:
    """Compile the sources with the target's port into out_dir/name.{elf,bin,map}.

    The port's sources and headers are added here. An empty string defines a name
    without a value. The same sources give the same bytes wherever they lie.
    """
    if not target.port:
        raise UsageError(
            f"{target.name} is a core, not a board: it has no port to build a firmware with",
            "Build its library: snap flash",
        )
    port = firmware_dir() / "port"
    sources = [*sources, *sorted(port.glob("*.c")), *sorted((port / target.port).glob("*.c"))]
    include_dirs = [*include_dirs, port]
    out_dir.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out_dir, prefix=".build-") as folder_name:
        folder = Path(folder_name)
        objects = _compile(target, sources, include_dirs, defines, folder)
        elf, binary, map_file = (f"{name}.{suffix}" for suffix in ("elf", "bin", "map"))
        # The linker takes its own script too, unless the last one inserts nothing.
        own = [port / target.port / name for name in ("memory.ld", target.extra_script) if name]
        scripts = (*own, port / "own_settings.ld", port / "sections.ld")
        options = [*(f"-T{script}" for script in scripts), f"-Wl,-Map={map_file}"]
        options += [f"-Wl,--defsym=PORT_{key.upper()}={getattr(target, key)}" for key in LIMITS]
        _run([GCC, *target.cpu_flags, *_LINK_FLAGS, *options, *objects, "-o", elf], target, folder)
        image = _fill_crc(folder / elf, folder / binary)
        sections = _section_sizes(folder / elf, folder / map_file)
        code = _code(elf, objects, folder)
        for product in (elf, binary, map_file):
            os.replace(folder / product, out_dir / product)

    return Build(
        elf=out_dir / elf,
        bin=out_dir / binary,
        map=out_dir / map_file,
        flash_bytes=sum(sections.get(section, 0) for section in _FLASH_SECTIONS),
        ram_bytes=sum(sections.get(section, 0) for section in _RAM_SECTIONS),
        sections=sections,
        image_bytes=len(image),
        image_crc=zlib.crc32(image),
        code=code,
    )


def _code(elf: str, objects: Sequence[str], folder: Path) -> Code:
    """The linked program and its objects, whose .su files lie beside them."""
    return Code(
        listing=_run([OBJDUMP, "-t", "-d", elf], cwd=folder).stdout,
        frames="".join((folder / name).with_suffix(".su").read_text("utf-8") for name in objects),
        relocations=_run([OBJDUMP, "-r", *objects], cwd=folder).stdout,
    )


def build_library(
    target: Target,
    sources: Sequence[Path],
    include_dirs: Sequence[Path],
    defines: Mapping[str, str],
    out_dir: Path,
    name: str = "snap",
) -> Library:
    """Compile the sources into out_dir/lib{name}.a, with the defaults of all that a port may give.

    Who links it gives the rest of a port.
    """
    port = firmware_dir() / "port"
    archive = f"lib{name}.a"
    out_dir.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out_dir, prefix=".build-") as folder_name:
        folder = Path(folder_name)
        sources, include_dirs = [*sources, port / "defaults.c"], [*include_dirs, port]
        objects = _compile(target, sources, include_dirs, defines, folder)
        _run([AR, "rcsD", archive, *objects], target, folder)
        flash_bytes, ram_bytes = linked_bytes(target, [archive], "app_run", folder)
        os.replace(folder / archive, out_dir / archive)
    return Library(out_dir / archive, flash_bytes, ram_bytes)


def linked_bytes(
    target: Target, objects: Sequence[str | Path], entry: str, folder: Path
) -> tuple[int, int]:
    """(flash, RAM without the stack) of all that the function `entry` reaches.

    Linked without a port, only to see what a linker would leave out.
    """
    link = ["-nostartfiles", "--specs=nano.specs", "-Wl,--gc-sections", f"-Wl,-u,{entry}"]
    link += [f"-Wl,-e,{entry}", "-Wl,--unresolved-symbols=ignore-all"]
    linked = [*map(str, objects), "-o", "linked.elf"]
    _run([GCC, *target.cpu_flags, *link, *linked], target, folder)
    text, data, bss = _object_sizes(["linked.elf"], folder)
    return text + data, data + bss


def compile_objects(
    target: Target, sources: Sequence[Path], include_dirs: Sequence[Path], folder: Path
) -> list[Path]:
    """The object files of the sources, in a new folder."""
    folder.mkdir(parents=True)
    return [folder / name for name in _compile(target, sources, include_dirs, {}, folder)]


def _fill_crc(elf: Path, binary: Path) -> bytes:
    """Write the raw image, put its CRC-32 behind it in both files; the bytes it covers."""
    _run([OBJCOPY, "-O", "binary", str(elf), str(binary)])
    raw = binary.read_bytes()
    placed = _placed_sections(elf)
    start, end = (placed[name][1] for name in (_IMAGE_SECTIONS[0], _CRC_SECTION))
    image = raw[: end - start]
    crc = zlib.crc32(image).to_bytes(4, "little")
    binary.write_bytes(image + crc + raw[len(image) + 4 :])
    crc_file = elf.with_suffix(".crc")
    crc_file.write_bytes(crc)
    _run([OBJCOPY, "--update-section", f"{_CRC_SECTION}={crc_file}", str(elf)])
    return image


def _compile(
    target: Target,
    sources: Sequence[Path],
    include_dirs: Sequence[Path],
    defines: Mapping[str, str],
    folder: Path,
) -> list[str]:
    """Names of the object files in folder, one per source."""
    compiler = find_tool(GCC)
    flags = [*target.cpu_flags, *_COMPILE_FLAGS, f'-DPORT_TARGET_NAME="{target.name}"']
    flags += [f"-D{key}={value}" if value else f"-D{key}" for key, value in defines.items()]
    flags += [f"-I{include.resolve()}" for include in include_dirs]
    application = {firmware_dir() / "app", firmware_dir() / "port"}
    folders = sorted({path.resolve().parent for path in sources})
    flags += [f"-ffile-prefix-map={path}=." for path in folders]

    def compile_one(numbered: tuple[int, Path]) -> str:
        number, source = numbered
        built = f"{number:03}-{source.stem}.o"  # numbered: two folders may share a name
        # The application is not what is timed: small is better than fast.
        small = ["-Os"] if application & set(source.parents) else []
        command, file = [GCC, *flags, *small], str(source.resolve())
        _note_flags(GCC, [*command, "-c"])
        text = _run([*command, "-E", "-P", file], target, folder).stdout
        seen = [flag for flag in command if not flag.startswith(_PREPROCESSED)]
        key = object_cache.key_of(compiler, text, source.name, seen)
        if not object_cache.fetch(key, folder / built):
            _run([*command, "-c", file, "-o", built], target, folder)
            object_cache.keep(key, folder / built)
        return built

    with ThreadPoolExecutor(max_workers=2) as pool:
        return list(pool.map(compile_one, enumerate(sources)))


def compiled_bytes(target: Target, sources: Sequence[Path], include_dirs: Sequence[Path]) -> int:
    """Flash that the sources take on the target, not linked: code, constants and data."""
    with tempfile.TemporaryDirectory(prefix="snap-") as folder_name:
        objects = _compile(target, sources, include_dirs, {}, Path(folder_name))
        text, data, _ = _object_sizes(objects, Path(folder_name))
    return text + data


def _object_sizes(objects: Sequence[str], folder: Path) -> tuple[int, int, int]:
    """Bytes of code and constants, of data and of bss, in all of the object files."""
    total = _run([SIZE, "-t", *objects], cwd=folder).stdout.splitlines()[-1]
    text, data, bss = map(int, total.split()[:3])
    return text, data, bss


def emulated_machine(target: Target) -> str:
    """QEMU's name of the target; an error for a real board."""
    if target.emulator is None:
        raise UsageError(
            f"{target.name} is {'a real board' if target.port else 'a core'}, not an emulator",
            "Choose qemu-m4 or qemu-m7.",
        )
    return target.emulator


def build_host(
    sources: Sequence[Path], include_dirs: Sequence[Path], folder: Path
) -> Sequence[str]:
    """The command that runs the program, built with the compiler of this machine."""
    program = folder / "host"
    includes = [f"-I{path}" for path in include_dirs]
    _run([CC, *HOST_FLAGS, *includes, *map(str, sources), "-o", str(program)])
    return [str(program)]


def build_host_firmware(
    sources: Sequence[Path],
    include_dirs: Sequence[Path],
    program: Path,
    sanitize: bool = False,
    defines: Sequence[str] = (),
) -> Path:
    """The bench program with a model, as a process of this machine (firmware/port/host).

    sources and include_dirs are those of the model. sanitize: it ends with a report where it
    reads or writes outside of its memory.
    """
    port = firmware_dir() / "port"
    flags = [*HOST_FLAGS, "-Wmissing-prototypes", '-DPORT_TARGET_NAME="host"']
    flags += ["-g", *_SANITIZE] if sanitize else []
    flags += [f"-D{define}" for define in defines]
    flags += [f"-I{path}" for path in (*include_dirs, port, firmware_dir() / "app")]
    sources = [*sources, *app_sources(), port / "defaults.c", port / "host" / "port.c"]
    _run([CC, *flags, *map(str, sources), "-o", str(program)])
    return program


def build_semihosted(
    target: Target,
    sources: Sequence[Path],
    include_dirs: Sequence[Path],
    folder: Path,
    counted: bool = False,
    compiled: Sequence[Path] = (),
) -> Sequence[str]:
    """The command that runs the program in the target's emulator.

    It reads and writes files of the folder it is started in. The emulated board has more
    memory than the target's limits. counted: an instruction takes a nanosecond, so that the
    port's counter, which is linked, counts them. compiled: object files of the program.
    """
    machine = emulated_machine(target)
    find_tool(QEMU)
    startup = firmware_dir() / "semihost"
    elf = folder / "target.elf"
    sources = [*sources, startup / "startup.c"]
    if counted:
        port = firmware_dir() / "port"
        sources = [*sources, port / target.port / "port.c", port / "defaults.c"]
        include_dirs = [*include_dirs, port]
    objects = [*map(str, compiled), *_compile(target, sources, include_dirs, {}, folder)]
    link = ["--specs=rdimon.specs", "-Wl,--gc-sections", f"-T{startup / 'mps2.ld'}"]
    _run([GCC, *target.cpu_flags, *link, *objects, "-o", str(elf)], target, folder)
    arguments = ["-M", machine, "-nographic", "-monitor", "none", "-serial", "none"]
    arguments += ["-icount", "shift=0"] if counted else []
    semihosting = "enable=on,target=native,arg=program"
    return [QEMU, *arguments, "-kernel", str(elf), "-semihosting-config", semihosting]


def run_program(command: Sequence[str], folder: Path) -> None:
    """Run a program of ours to its end, in a folder of its own files."""
    if command[0] == QEMU:
        _note_emulator(command[1:])
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=RUN_S
        )
    except subprocess.TimeoutExpired:
        raise ToolchainError(
            f"no end after {RUN_S} s", "It hangs, or has too much to do."
        ) from None
    if done.returncode == 0:
        return
    reason = _status(done.returncode)
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    # QEMU prints the registers behind its message.
    told = next((line for line in lines if line.startswith("qemu")), lines[-1] if lines else "")
    raise ToolchainError(f"{reason}: {told}" if told else reason, "See what it printed.")


def start_emulator(target: Target, elf: Path) -> subprocess.Popen[str]:
    """Start QEMU with the program; its console is a pty that QEMU names on stdout.

    Its end is the caller's duty. It gets a process group of its own, so that Ctrl-C
    reaches it through that caller and not by surprise; on Linux it also ends when the
    caller is killed and can do nothing any more.
    """
    # Loaded before the fork, behind which little is allowed.
    kernel = ctypes.CDLL(None) if sys.platform == "linux" else None
    arguments = ["-M", emulated_machine(target), "-nographic", "-icount", "shift=0"]
    arguments += ["-serial", "pty"]
    # Without semihosting, by which a program could do on this machine what it likes: images come
    # from runs, and runs from anybody.
    arguments += ["-monitor", "none", "-kernel", str(elf)]
    _note_emulator(arguments)
    return subprocess.Popen(
        [find_tool(QEMU), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=(lambda: kernel.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)) if kernel else None,
    )


def _note_emulator(arguments: Sequence[str]) -> None:
    used.note(QEMU, arguments[: arguments.index("-kernel")])


def run_flasher(
    command: Sequence[str], timeout_s: float | None = None, cwd: Path | None = None
) -> str:
    """What a flasher printed, stdout and then stderr; timeout_s: WRITE_S if None.

    It runs in a process group of its own and ends with us: by Ctrl-C, or when its time is up.
    """
    limit = WRITE_S if timeout_s is None else timeout_s
    name = command[2] if command[0] == sys.executable else command[0]
    with (
        _ctrl_c_later() as let_it_come,
        subprocess.Popen(
            [find_tool(command[0]), *command[1:]],
            cwd=cwd,
            env={**os.environ, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as process,
    ):
        try:
            let_it_come()
            out, err = process.communicate(timeout=limit)
        except BaseException as error:
            _end_group(process)
            if isinstance(error, subprocess.TimeoutExpired):
                raise DeviceError(
                    f"{name} did not come to an end in {limit:g} s", "Plug the board in again."
                ) from None
            raise
    if process.returncode == 0:
        return f"{out}\n{err}"
    told = _told(f"{err}\n{out}") if process.returncode > 0 else ""
    refused = _REFUSED.search(err + out)
    raise DeviceError(
        f"{name} failed: {told or _status(process.returncode)}",
        UDEV_HINT if refused else "Check the cable, or try another one with --flasher.",
    )


@contextmanager
def _ctrl_c_later() -> Iterator[Callable[[], None]]:
    """Ctrl-C waits for the call of what this gives: a process that is about to start would go
    on without anybody who knows it."""
    came: list[tuple[int, FrameType | None]] = []
    before = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()  # the one that is interrupted

    def restore() -> None:
        if is_main:
            signal.signal(signal.SIGINT, before)

    def let_it_come() -> None:
        restore()
        if came and callable(before):
            before(*came.pop())

    if is_main:
        signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
    try:
        yield let_it_come
    finally:
        restore()


def _told(said: str) -> str:
    """The first line that complains, else the last one."""
    lines = [line.strip() for line in said.splitlines() if line.strip()] or [""]
    told = next((line for line in lines if _COMPLAINT.search(line)), lines[-1])
    return _LOG_PREFIX.sub("", told)


def _status(code: int) -> str:
    return str(signal.strsignal(-code)) if code < 0 else f"exit status {code}"


def _end_group(process: subprocess.Popen[str]) -> None:
    """Ends a process and those it started; politely first, so that a probe is let go of."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_ENDING_S)


def download_wheel(requirement: str, folder: Path) -> None:
    """Ask the package index of this Python for one wheel, without what it depends on."""
    options = ["--no-deps", "--only-binary", ":all:", "--retries", "1", "--timeout", "20"]
    options += ["--quiet", "--no-input", "--disable-pip-version-check", "--dest", str(folder)]
    result = subprocess.run(
        [sys.executable, "-m", "pip", "download", *options, requirement],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if result.returncode:
        lines = result.stderr.strip().splitlines() or [f"exit status {result.returncode}"]
        # An index gets many lines of warnings before the one that tells.
        told = next((line for line in lines if line.startswith("ERROR: ")), lines[-1])
        raise ToolchainError(
            f"pip cannot download {requirement}: {told.removeprefix('ERROR: ').strip()}",
            "Check the network.",
        )


def _run(
    command: Sequence[str], target: Target | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a tool to its end; a failure becomes one sentence."""
    if command[0] in (GCC, CC) and "-o" in command:
        _note_flags(command[0], command)
    result = subprocess.run(
        [find_tool(command[0]), *command[1:]],
        cwd=cwd,
        env={**os.environ, "LC_ALL": "C"},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if result.returncode == 0:
        return result
    overflow = re.search(r"region [`'](\w+)' overflowed by (\d+) bytes", result.stderr)
    if overflow and target:
        region, excess = overflow[1].lower(), int(overflow[2])
        limit = {"flash": target.flash_bytes, "ram": target.ram_bytes}.get(region)
        raise ConfigError(
            f"The firmware does not fit {target.name}: its {region}"
            f"{f' of {limit} bytes' if limit else ''} overflows by {excess} bytes.",
            "Use a smaller model or a bigger target.",
        )
    if os.strerror(errno.ENOSPC) in result.stderr:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(cwd))
    lines = result.stderr.strip().splitlines() or [f"exit status {result.returncode}"]
    first = next((line for line in lines if re.search(r"error: |undefined ", line)), lines[0])
    compiles = command[0] in (GCC, CC)
    raise ToolchainError(
        f"{command[0]} failed: {first.strip()}", _MUST_COMPILE if compiles else "Try: snap doctor"
    )


def _note_flags(compiler: str, command: Sequence[str]) -> None:
    flags = [part for part in command if part.startswith("-")]
    used.note(compiler, [flag for flag in flags if not flag.startswith(_NAMING)])


def _placed_sections(elf: Path) -> dict[str, tuple[int, int]]:
    """{name: (bytes, address)}"""
    listing = _run([SIZE, "-A", "-d", str(elf)]).stdout
    sections = re.findall(r"^(\.\S+)\s+(\d+)\s+(\d+)\s*$", listing, re.MULTILINE)
    return {name: (int(size), int(address)) for name, size, address in sections}


def _section_sizes(elf: Path, map_file: Path) -> dict[str, int]:
    """Bytes of every section that takes memory, where ELF and map file agree."""
    wanted = dict.fromkeys((*_FLASH_SECTIONS, *_RAM_SECTIONS))
    placed = _placed_sections(elf)
    in_elf = {name: size for name, (size, _) in placed.items() if name in wanted}
    in_map = {
        name: int(size, 16)
        for name, size in re.findall(
            r"^(\.\S+)\s+0x[0-9a-f]+\s+0x([0-9a-f]+)", map_file.read_text("utf-8"), re.MULTILINE
        )
        if name in wanted
    }
    if {name: size for name, size in in_map.items() if size} != {
        name: size for name, size in in_elf.items() if size
    }:
        raise ToolchainError(
            f"{elf.name} and {map_file.name} do not agree about section sizes.",
            "Remove the build folder and build again.",
        )
    return in_elf
