"""A stream through a device: in order, checked, kept, and taken up again."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from snapcli.data.dataset import Dataset, Split
from snapcli.data.streams import Segment, Stream
from snapcli.device import Inference
from snapcli.errors import CheckError, DeviceError
from snapcli.measuring.exact import Reference
from snapcli.measuring.frame_log import FrameLog
from snapcli.progress import silent
from snapcli.stages.stream import Player, identity_of

from ..tiny_monitor import INPUT_SHAPE
from .fake_device import HELLO, FakeDevice, controlled

pytestmark = pytest.mark.slow

FRAMES = 700  # more than one partial file


def plan(rows: int = FRAMES, seed: int = 0) -> Stream:
    """Two thirds clean, one third foreign, of random examples in [0, 1]."""
    rng = np.random.default_rng(seed)

    def split(count: int) -> Split:
        x = rng.random((count, *INPUT_SHAPE), np.float32) * rng.random((count, 1, 1, 1), np.float32)
        return Split(x, np.zeros(count, np.int64), np.arange(count).astype(str))

    data = Dataset(
        "tiny", ("a", "b"), split(1), split(1), split(rows), {}, {"other": split(rows).x}
    )
    clean = 2 * rows // 3
    segments = (
        Segment("clean", "clean", 0, rng.permutation(clean), 0),
        Segment("foreign", "other", 0, np.arange(rows - clean), clean),
    )
    return Stream(data, "test", 0, segments)


def inputs_of(stream: Stream) -> np.ndarray:
    tensor = controlled().body.graph.tensors[controlled().body.graph.input]
    return tensor.quantize(np.concatenate([frames.x for frames in stream.frames()]))


def player(device: FakeDevice, partial: Path, frames: int = FRAMES) -> Player:
    stream = plan()
    return Player(
        client=device,  # type: ignore[arg-type]
        monitor=controlled(),
        plan=stream,
        log=FrameLog.empty(frames, HELLO.taps, HELLO.classes),
        partial=partial,
        identity=identity_of(HELLO, stream, frames),
        remedy="snap flash",
    )


def answers_of(log: FrameLog) -> list[Inference]:
    return [replace(log.answer(i), count=0) for i in range(log.done)]


@pytest.fixture
def partial(tmp_path: Path) -> Path:
    return tmp_path / "bench" / f".qemu-m4-stream-{FRAMES}.partial"


@pytest.mark.parametrize("frames", [1, 100, FRAMES])
def test_every_frame_is_asked_once_and_in_order(partial: Path, frames: int) -> None:
    device = FakeDevice(controlled())
    told: list[tuple[int, int, str]] = []
    playing = player(device, partial, frames)
    assert playing.restore() == 0
    playing.play(lambda *step: told.append(step))
    x = inputs_of(plan())[:frames]
    assert device.asked == [row.tobytes() for row in x]
    assert answers_of(playing.log) == Reference(controlled()).answers(x)
    assert [done for done, _, _ in told] == list(range(1, frames + 1))
    assert {total for _, total, _ in told} == {frames}
    assert np.all(np.diff(playing.log.arrays["time_s"]) >= 0)
    playing.forget()
    assert list(partial.parent.parent.rglob("*")) in ([], [partial.parent])


@pytest.mark.parametrize("cut", [0, 1, 300, FRAMES - 1])
def test_a_stream_that_was_cut_off_goes_on(partial: Path, cut: int) -> None:
    first = FakeDevice(controlled(), dies_at=cut)
    with pytest.raises(DeviceError):
        player(first, partial).play(silent)
    second = FakeDevice(controlled())
    playing = player(second, partial)
    assert playing.restore() == cut
    playing.play(silent)
    x = inputs_of(plan())
    assert first.asked + second.asked == [row.tobytes() for row in x]
    assert answers_of(playing.log) == Reference(controlled()).answers(x)


def test_a_kill_costs_a_few_hundred_frames_at_most(partial: Path) -> None:
    """What is on the disk at any moment is what a kill leaves."""
    left: list[int] = []
    other = player(FakeDevice(controlled()), partial)

    def look(done: int, total: int, detail: str) -> None:
        if done % 9 == 0 or done % 256 < 2:
            other.log.done = 0
            left.append(done - other.restore())

    player(FakeDevice(controlled()), partial).play(look)
    assert max(left) <= 256
    assert min(left) >= 0


@pytest.mark.parametrize("field", ["model_id", "settings_check", "image_crc", "target"])
def test_another_device_starts_anew(partial: Path, field: str) -> None:
    with pytest.raises(DeviceError):
        player(FakeDevice(controlled(), dies_at=300), partial).play(silent)
    value = getattr(HELLO, field)
    other = replace(HELLO, **{field: f"{value}x" if isinstance(value, str) else value + 1})
    playing = player(FakeDevice(controlled()), partial)
    playing.identity = identity_of(other, playing.plan, FRAMES)
    assert playing.restore() == 0


def test_another_stream_starts_anew() -> None:
    same = identity_of(HELLO, plan(), FRAMES)
    assert same == identity_of(HELLO, plan(), FRAMES)
    stream = plan()
    others = [
        identity_of(HELLO, plan(seed=1), FRAMES),
        identity_of(HELLO, plan(), FRAMES - 1),
        identity_of(HELLO, replace(stream, split="dev"), FRAMES),
        identity_of(HELLO, replace(stream, segments=stream.segments[:1]), FRAMES),
    ]
    assert same not in others


@pytest.mark.parametrize("damage", [b"", b"nonsense", None])
def test_a_damaged_partial_file_is_no_obstacle(partial: Path, damage: bytes | None) -> None:
    with pytest.raises(DeviceError):
        player(FakeDevice(controlled(), dies_at=300), partial).play(silent)
    content = partial.read_bytes()
    partial.write_bytes(content[: len(content) // 2] if damage is None else damage)
    playing = player(FakeDevice(controlled()), partial)
    assert playing.restore() == 0
    playing.play(silent)
    assert playing.log.done == FRAMES


def test_a_device_that_forgot_its_stream_is_found(partial: Path) -> None:
    class Forgetful(FakeDevice):
        def infer(self, data: bytes) -> Inference:
            if len(self.asked) == 400:
                self.start()  # as after a reset that nobody noticed
            return super().infer(data)

    playing = player(Forgetful(controlled()), partial)
    with pytest.raises(CheckError, match=r"not bit-exact: (decision|rate) of input 400"):
        playing.play(silent)
    assert playing.log.done == 400
