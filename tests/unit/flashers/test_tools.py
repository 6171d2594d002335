"""pyOCD, OpenOCD and st-flash against stub programs that keep a flash memory."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from snapcli import toolchain
from snapcli.errors import CheckError, DeviceError
from snapcli.flashers import Flasher, Probe, Written, choose, flashers_for, put
from snapcli.flashers.choice import TOOLS, Wish
from snapcli.targets import load_target
from tests.conftest import HEARS_CTRL_C
from tests.fake_board import F767, L432, L476, OTHER, SERIAL, Desk

pytestmark = pytest.mark.slow

SMALL, BIG = load_target("small-mcu"), load_target("big-mcu")
NAMES = [tool.name for tool in TOOLS]
PATIENCE_S = 60.0


@pytest.fixture(params=NAMES)
def wish(request: pytest.FixtureRequest) -> Wish:
    return Wish(flasher=request.param)


def flash(image: Path, wish: Wish, target_name: str = "small-mcu") -> Written:
    target = load_target(target_name)
    flasher, probe = choose(target, flashers_for(target, wish), wish)
    return put(target, flasher, probe, image)


def holds(desk: Desk, image: Path, serial: str = SERIAL) -> bool:
    wanted = image.read_bytes()
    memory = desk.memory(serial).read_bytes()
    return memory.startswith(wanted) and set(memory[len(wanted) :]) == {0xFF}


def test_the_image_is_written_and_read_back(desk: Desk, image: Path, wish: Wish) -> None:
    desk.plug_in()
    written = flash(image, wish)
    assert holds(desk, image)
    assert written.image_bytes == image.stat().st_size
    assert written.proof == "read back"
    assert written.part == "STM32L43x/L44x, 256 KB of flash"


def test_the_bigger_board(desk: Desk, image: Path, wish: Wish) -> None:
    desk.plug_in(idcode=F767, flash_kb=2048)
    assert flash(image, wish, "big-mcu").part == "STM32F76x/F77x, 2048 KB of flash"
    assert holds(desk, image)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("half", r"flash program page failure|timed out while waiting|write error, count"),
        ("die", "Killed"),
    ],
)
def test_a_failure_half_way_is_told_and_mended_by_flashing_again(
    desk: Desk, image: Path, wish: Wish, fault: str, reason: str
) -> None:
    desk.plug_in()
    desk.fault(fault)
    with pytest.raises(DeviceError) as caught:
        flash(image, wish)
    assert re.search(reason, caught.value.message)
    assert caught.value.message.endswith("the board may be half-written")
    assert "again" in (caught.value.hint or "")
    assert not holds(desk, image)
    assert not desk.untouched()
    desk.fault(None)
    flash(image, wish)
    assert holds(desk, image)


def test_a_wrong_byte_is_found(desk: Desk, image: Path, wish: Wish) -> None:
    desk.plug_in()
    desk.fault("corrupt")
    with pytest.raises(CheckError) as caught:
        flash(image, wish)
    at = image.stat().st_size // 2
    wanted = image.read_bytes()[at]
    assert f"0x{0x0800_0000 + at:08x} is 0x{wanted ^ 0x10:02x}, not 0x{wanted:02x}" in (
        caught.value.message
    )


def test_a_tool_that_hangs_is_ended(
    desk: Desk, image: Path, wish: Wish, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.plug_in()
    desk.fault("hang")
    monkeypatch.setattr(toolchain, "WRITE_S", 0.7)
    communicate = subprocess.Popen.communicate

    def from_then_on(
        process: subprocess.Popen[str], *given: Any, timeout: float | None = None
    ) -> Any:
        """The time counts from when the tool hangs: it may take long to start."""
        wait_for(lambda: process.poll() is not None or is_hanging(desk))
        return communicate(process, *given, timeout=timeout)

    monkeypatch.setattr(subprocess.Popen, "communicate", from_then_on)
    with pytest.raises(DeviceError) as caught:
        flash(image, wish)
    assert "did not come to an end in 0.7 s" in caught.value.message
    assert "half-written" in caught.value.message
    wait_for(lambda: has_ended(desk))


def wait_for(event: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not event():
        assert time.monotonic() < until
        time.sleep(0.02)


def is_hanging(desk: Desk) -> bool:
    path = desk.folder / "hanging"
    return path.is_file() and path.read_text() != ""


def has_ended(desk: Desk) -> bool:
    """The tool that was hanging."""
    try:
        os.kill(int((desk.folder / "hanging").read_text()), 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize(
    ("idcode", "flash_kb", "named"),
    [
        (L476, 1024, "STM32L47x/L48x"),
        (F767, 2048, "STM32F76x/F77x"),
        (0x1000_0ABC, 512, "DEV_ID 0xabc"),
        (L432, 128, "128 KB of flash"),
    ],
)
def test_another_part_is_refused_and_left_alone(
    desk: Desk, image: Path, wish: Wish, idcode: int, flash_kb: int, named: str
) -> None:
    desk.plug_in(idcode=idcode, flash_kb=flash_kb)
    with pytest.raises(CheckError) as caught:
        flash(image, wish)
    assert named in caught.value.message
    assert "small-mcu (STM32L432KC)" in caught.value.message
    assert desk.untouched()
    assert not any(re.search(r" load | write | program ", call) for call in desk.calls())


def test_an_image_that_is_too_large_is_refused(desk: Desk, image: Path, wish: Wish) -> None:
    desk.plug_in()
    image.write_bytes(bytes(SMALL.flash_bytes + 1))
    limit = SMALL.flash_bytes
    with pytest.raises(CheckError, match=f"{limit + 1:,} bytes is larger than the {limit:,}"):
        flash(image, wish)
    assert desk.untouched()


def test_a_board_without_power(desk: Desk, image: Path, wish: Wish) -> None:
    desk.plug_in(idcode=0)
    with pytest.raises(DeviceError, match="sees no chip"):
        flash(image, wish)


def test_no_permission_names_the_udev_rules(desk: Desk, image: Path, wish: Wish) -> None:
    desk.plug_in()
    desk.fault("permission")
    with pytest.raises(DeviceError) as caught:
        flash(image, wish)
    assert re.search("LIBUSB_ERROR_ACCESS|permission", caught.value.message)
    assert "udev" in (caught.value.hint or "")


def test_a_tool_that_talks_nonsense(desk: Desk, wish: Wish) -> None:
    desk.plug_in()
    desk.fault("gibberish")
    (flasher,) = flashers_for(SMALL, wish)
    with pytest.raises(DeviceError):
        flasher.identify(Probe(SERIAL, ""))


def test_of_two_probes_one_has_to_be_named(desk: Desk, image: Path, wish: Wish) -> None:
    desk.plug_in()
    desk.plug_in(OTHER)
    with pytest.raises(Exception, match=f"{SERIAL}.*{OTHER}") as caught:
        flash(image, wish)
    assert caught.value.exit_code == 2  # type: ignore[attr-defined]
    assert caught.value.hint == f"Name one: --probe {SERIAL}"  # type: ignore[attr-defined]
    flash(image, Wish(wish.flasher, probe=OTHER.lower()))
    assert holds(desk, image, OTHER)
    assert desk.untouched(SERIAL)


INTERRUPTED = f"""{HEARS_CTRL_C}
import sys
from pathlib import Path
from snapcli.errors import InterruptedRunError
from snapcli.flashers import Probe, Wish, flashers_for, put
from snapcli.targets import load_target
target = load_target("small-mcu")
(flasher,) = flashers_for(target, Wish(flasher=sys.argv[1]))
try:
    put(target, flasher, Probe(sys.argv[2], ""), Path(sys.argv[3]))
except InterruptedRunError as error:
    print(error.message, "|", error.hint)
    sys.exit(error.exit_code)
"""


def test_ctrl_c_ends_the_tool_and_tells_what_it_leaves(desk: Desk, image: Path, wish: Wish) -> None:
    desk.plug_in()
    desk.fault("hang")
    command = [sys.executable, "-c", INTERRUPTED, wish.flasher, SERIAL, str(image)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        wait_for(lambda: process.poll() is not None or is_hanging(desk))
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert said == ("writing was interrupted; the board may be half-written | Flash it again.\n")
    wait_for(lambda: has_ended(desk))


def test_ctrl_c_while_the_tool_starts_ends_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[str]] = []

    class Interrupted(subprocess.Popen[str]):
        def __init__(self, *given: Any, **options: Any) -> None:
            super().__init__(*given, **options)
            started.append(self)
            signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    try:
        with pytest.raises(KeyboardInterrupt):
            toolchain.run_flasher(["sleep", "600"])
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert started[0].returncode == -signal.SIGTERM


# ---- The real tools, as far as they go without a probe ------------------------

NOBODY = Probe("000000000000000000000000", "a serial number that no probe has")


@pytest.mark.parametrize("target", [SMALL, BIG], ids=lambda target: target.name)
@pytest.mark.parametrize("name", NAMES)
def test_the_real_tool_takes_our_arguments_and_misses_the_probe(
    name: str, target: toolchain.Target, image: Path
) -> None:
    assert target.flashing
    (tool,) = (t for t in TOOLS if t.name == name)
    flasher: Flasher = tool(target.flashing)
    if flasher.missing():
        pytest.skip(f"{name} is not installed")
    missed = "No (connected|target)|open failed|init failed|Couldn't find any ST-Link"
    for ask in (
        lambda: flasher.write(NOBODY, image),
        lambda: flasher.verify(NOBODY, image),
    ):
        with pytest.raises(DeviceError, match=missed):
            ask()


def test_pyocd_knows_the_parts() -> None:
    targets = pytest.importorskip("pyocd.target.builtin").BUILTIN_TARGETS
    for target in (SMALL, BIG):
        assert target.flashing
        assert target.flashing.pyocd in targets
        regions = targets[target.flashing.pyocd].MEMORY_MAP.regions
        assert sum(r.length for r in regions if r.is_flash and r.start >= 0x0800_0000) >= (
            target.flash_bytes
        )
    ids = pytest.importorskip("pyocd.board.board_ids").BOARD_ID_TO_INFO
    for target in (SMALL, BIG):
        assert target.flashing
        assert ids[target.flashing.board_id].name == target.flashing.board
