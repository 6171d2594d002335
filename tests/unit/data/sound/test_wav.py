"""WAV files that the standard library and scipy wrote, whole and damaged."""

import struct
import time
import warnings
import wave
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.io import wavfile

from snapcli.data.sound.wav import rate_of, read_wav, resample
from snapcli.errors import ArtifactError


def written(path: Path, samples: bytes, width: int, channels: int = 1, rate: int = 16_000) -> Path:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(samples)
    return path


def little(values: list[int], width: int) -> bytes:
    """Samples as WAV files hold them: 8 bits with an offset, more with a sign."""
    if width == 1:
        return bytes(v + 128 for v in values)
    return b"".join(v.to_bytes(width, "little", signed=True) for v in values)


@given(
    width=st.sampled_from([1, 2, 3, 4]),
    channels=st.integers(1, 3),
    rate=st.sampled_from([8_000, 16_000, 44_100]),
    data=st.data(),
)
def test_integers_come_back(
    tmp_path_factory: pytest.TempPathFactory,
    width: int,
    channels: int,
    rate: int,
    data: st.DataObject,
) -> None:
    full = 2 ** (8 * width - 1)
    frames = data.draw(
        st.lists(
            st.lists(st.integers(-full, full - 1), min_size=channels, max_size=channels),
            min_size=1,
            max_size=20,
        )
    )
    flat = [value for frame in frames for value in frame]
    path = tmp_path_factory.mktemp("wav") / "a.wav"
    written(path, little(flat, width), width, channels, rate)
    found_rate, signal = read_wav(path)
    assert found_rate == rate
    assert signal.dtype == np.float32
    assert np.abs(signal).max() <= 1
    np.testing.assert_allclose(signal, np.mean(frames, axis=1) / full, atol=1e-6)


@given(
    hnp.arrays(
        st.sampled_from([np.float32, np.float64]),
        st.one_of(st.tuples(st.integers(1, 30)), st.tuples(st.integers(1, 30), st.integers(2, 3))),
        elements=st.floats(-1, 1, width=32),
    )
)
def test_floats_come_back(tmp_path_factory: pytest.TempPathFactory, samples: np.ndarray) -> None:
    path = tmp_path_factory.mktemp("wav") / "a.wav"
    wavfile.write(path, 22_050, samples)
    rate, signal = read_wav(path)
    mono = samples if samples.ndim == 1 else samples.mean(axis=1)
    assert rate == 22_050
    assert signal.dtype == np.float32
    np.testing.assert_allclose(signal, mono, atol=1e-6)


def test_floats_beyond_full_scale_are_clipped(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    wavfile.write(path, 16_000, np.array([0.5, 3.0, -1e30], np.float32))
    np.testing.assert_array_equal(read_wav(path)[1], np.array([0.5, 1, -1], np.float32))


def chunked(*chunks: tuple[bytes, bytes]) -> bytes:
    body = b"".join(
        name + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)
        for name, content in chunks
    )
    return b"RIFF" + struct.pack("<I", 4 + len(body)) + b"WAVE" + body


PCM_16 = (b"fmt ", struct.pack("<HHIIHH", 1, 1, 16_000, 32_000, 2, 16))
SOUND = (b"data", struct.pack("<4h", 0, 16_384, -16_384, 8_192))


def test_unknown_chunks_are_skipped_without_a_word(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(chunked(PCM_16, (b"what", b"ever"), SOUND, (b"odd ", b"one"), (b"zzzz", b"")))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", wavfile.WavFileWarning)
        with pytest.raises(wavfile.WavFileWarning):
            wavfile.read(path)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        _, signal = read_wav(path)
    np.testing.assert_array_equal(signal, [0, 0.5, -0.5, 0.25])
    assert heard == []


def test_threads_leave_the_warning_filters_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two readers that overlap: the one that starts later ends later."""
    path = tmp_path / "a.wav"
    path.write_bytes(chunked(PCM_16, (b"what", b"ever"), SOUND))
    delays = iter([0.05, 0.1])
    read = wavfile.read

    def slow(file: object) -> object:
        time.sleep(next(delays))
        return read(file)

    monkeypatch.setattr(wavfile, "read", slow)
    with warnings.catch_warnings(record=True) as heard, ThreadPoolExecutor(2) as pool:
        warnings.simplefilter("always")
        before = list(warnings.filters)
        signals = list(pool.map(lambda _: read_wav(path)[1], range(2)))
        assert warnings.filters == before
    np.testing.assert_array_equal(*signals)
    assert heard == []


MU_LAW = (b"fmt ", struct.pack("<HHIIHH", 7, 1, 8_000, 8_000, 1, 8))
RATE_0 = (b"fmt ", struct.pack("<HHIIHH", 1, 1, 0, 0, 2, 16))
NO_CHANNEL = (b"fmt ", struct.pack("<HHIIHH", 1, 0, 16_000, 32_000, 2, 16))
FLOAT_32 = (b"fmt ", struct.pack("<HHIIHH", 3, 1, 16_000, 64_000, 4, 32))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is empty"),
        (b"RIFF", "it ends after 4 of 8 bytes"),
        (b"\x00" * 100, "not understood"),
        (b"ID3\x03 this is not a wav file, however it ends in .wav", "not understood"),
        (chunked(), "cannot read"),
        (chunked(PCM_16), "cannot read"),
        (chunked(SOUND), "No fmt chunk before data"),
        (chunked(PCM_16, (b"data", b"")), "it holds no sound"),
        (chunked(MU_LAW, (b"data", b"1234")), "MU_?LAW"),
        (chunked(RATE_0, SOUND), "it holds no sound"),
        (chunked(NO_CHANNEL, SOUND), "damaged"),
        (chunked(PCM_16, SOUND)[:-3], "it ends after 49 of 52 bytes"),
        (chunked(FLOAT_32, (b"data", struct.pack("<2f", 0, np.nan))), "not finite"),
        (chunked(FLOAT_32, (b"data", struct.pack("<2f", 0, np.inf))), "not finite"),
    ],
)
def test_what_is_no_sound_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "hello.wav"
    path.write_bytes(content)
    with pytest.raises(ArtifactError, match=reason) as caught:
        read_wav(path)
    assert str(path) in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.hint


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.wav", tmp_path):
        with pytest.raises(ArtifactError, match="cannot read"):
            read_wav(path)


SMALL_FILES = {
    "8 bits": (little([1, -2, 3], 1), 1, 1),
    "16 bits": (little([1, -2, 3], 2), 2, 1),
    "24 bits, stereo": (little([1, -2, 3, 4], 3), 3, 2),
    "32 bits": (little([1, -2], 4), 4, 1),
}


def attempt(path: Path) -> bool:
    """Whether it could be read; nothing but ArtifactError may say that it could not."""
    try:
        _, signal = read_wav(path)
    except ArtifactError:
        return False
    assert np.isfinite(signal).all()
    assert np.abs(signal).max() <= 1
    return True


@pytest.mark.parametrize("name", SMALL_FILES)
def test_a_file_cut_anywhere_is_refused(tmp_path: Path, name: str) -> None:
    path = written(tmp_path / "a.wav", *SMALL_FILES[name])
    content = path.read_bytes()
    assert attempt(path)
    for end in range(len(content) - 1):
        path.write_bytes(content[:end])
        assert not attempt(path), end
    # The last byte may be padding that was counted and not written.
    path.write_bytes(content[:-1])
    attempt(path)


@given(st.sampled_from(sorted(SMALL_FILES)), st.integers(0, 43), st.integers(0, 255))
def test_a_wrong_byte_in_the_header_is_no_surprise(
    tmp_path_factory: pytest.TempPathFactory, name: str, place: int, value: int
) -> None:
    path = written(tmp_path_factory.mktemp("wav") / "a.wav", *SMALL_FILES[name])
    content = bytearray(path.read_bytes())
    unchanged = content[place] == value
    content[place] = value
    path.write_bytes(content)
    assert attempt(path) or not unchanged


def test_resampling_keeps_a_tone() -> None:
    hz = 1000.0
    for source, target in ((44_100, 16_000), (8_000, 16_000), (22_050, 16_000)):
        tone = np.sin(2 * np.pi * hz * np.arange(source) / source).astype(np.float32) / 2
        found = resample(tone, source, target)
        assert found.dtype == np.float32
        assert len(found) == target
        wanted = np.sin(2 * np.pi * hz * np.arange(target) / target) / 2
        np.testing.assert_allclose(found[400:-400], wanted[400:-400], atol=5e-3)


def test_resampling_removes_what_the_rate_cannot_hold() -> None:
    tone = np.sin(2 * np.pi * 12_000 * np.arange(48_000) / 48_000).astype(np.float32)
    assert np.abs(resample(tone, 48_000, 16_000)[400:-400]).max() < 0.01


def test_resampling_stays_within_full_scale() -> None:
    square = np.sign(np.sin(np.arange(4000) / 20)).astype(np.float32)
    found = resample(square, 16_000, 48_000)
    assert np.abs(found).max() == 1
    np.testing.assert_array_equal(resample(square, 16_000, 16_000), square)


# ---- The header alone -------------------------------------------------------


@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("channels", [1, 2, 5])
@pytest.mark.parametrize("rate", [8_000, 16_000, 44_100])
def test_the_header_says_what_the_samples_do(
    tmp_path: Path, width: int, channels: int, rate: int
) -> None:
    path = written(tmp_path / "a.wav", bytes(12_345 * width * channels), width, channels, rate)
    assert rate_of(path) == (rate, channels, 12_345 / rate)
    assert rate_of(path)[0] == read_wav(path)[0]


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int32, np.float32, np.float64])
def test_the_header_of_what_scipy_writes(tmp_path: Path, dtype: type) -> None:
    path = tmp_path / "a.wav"
    wavfile.write(path, 22_050, np.zeros((441, 2), dtype))
    assert rate_of(path) == (22_050, 2, 0.02)


def test_other_chunks_around_and_between_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    odd, even = (b"LIST", b"abc"), (b"what", b"data")
    path.write_bytes(chunked(odd, even, PCM_16, odd, SOUND, odd))
    assert rate_of(path) == (16_000, 1, len(SOUND[1]) / 2 / 16_000)


def test_a_file_with_its_bytes_the_other_way_round(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    header = struct.pack(">4sIHHIIHH", b"fmt ", 16, 1, 1, 16_000, 32_000, 2, 16)
    body = b"WAVE" + header + struct.pack(">4sI", b"data", 320) + bytes(320)
    path.write_bytes(struct.pack(">4sI", b"RIFX", len(body)) + body)
    assert rate_of(path) == (16_000, 1, 0.01)
    assert read_wav(path)[0] == 16_000


def test_a_length_that_nobody_knew_when_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(chunked(PCM_16) + b"data" + b"\xff" * 4 + bytes(320))
    assert rate_of(path) == (16_000, 1, 0.01)


def test_a_header_that_ends_anywhere_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    whole = chunked(PCM_16, SOUND)
    for length in range(len(whole) - len(SOUND[1])):
        path.write_bytes(whole[:length])
        with pytest.raises(ArtifactError, match=str(path)):
            rate_of(path)


@pytest.mark.parametrize(
    "raw",
    [
        b"RIFF" + bytes(4) + b"AVI " + bytes(50),
        b"OggS" + bytes(50),
        chunked(SOUND),
        chunked((b"fmt ", bytes(16)), SOUND),
        chunked(PCM_16),
    ],
)
def test_what_has_no_header_of_a_sound_is_refused(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "a.wav"
    path.write_bytes(raw)
    with pytest.raises(ArtifactError, match=str(path)):
        rate_of(path)


def test_a_missing_file_has_no_header(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="No such file"):
        rate_of(tmp_path / "a.wav")
