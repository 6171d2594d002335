"""MLPerf Tiny's keyword front end against tf.signal, and against the model trained with it."""

import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from snapcli.data.sound.clips import read_clip, read_signal
from snapcli.data.sound.mfcc import mlperf_kws
from snapcli.graph import read_tflite

RATE = 16_000
MODELS = Path(__file__).parents[3].parent / "shared" / "models"
REAL = Path(os.environ.get("SNAP_DATA_DIR", ""), "speech_commands_v0.01")
# The outputs of the reference model in their order.
CLASSES = ("down", "go", "left", "no", "off", "on", "right", "stop", "up", "yes", "silence")
UNKNOWN = len(CLASSES)


def hiss(n: int, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).normal(0, 0.1, (n, RATE)).astype(np.float32)


def word_like(seed: int) -> NDArray[np.int16]:
    """Harmonics that glide within an envelope, a burst of noise, and a quiet room."""
    rng = np.random.default_rng(seed)
    time = np.arange(RATE) / RATE
    phase = 2 * np.pi * np.cumsum(rng.uniform(90, 220) * (1 + 0.3 * time)) / RATE
    voice = sum(np.sin(k * phase) / k for k in range(1, 20))
    centre = rng.uniform(0.3, 0.6)
    voice = voice * np.exp(-(((time - centre) / 0.12) ** 2))
    burst = rng.normal(0, 0.3, RATE) * (np.abs(time - centre - 0.2) < 0.04)
    whole = voice + burst + rng.normal(0, 0.002, RATE)
    return (whole / np.abs(whole).max() * rng.uniform(300, 32_000)).astype(np.int16)


def expected(clip: NDArray) -> NDArray[np.float32]:
    """[49, 10, 1] of a clip [16000], as MLPerf Tiny describes it and TensorFlow computes it."""
    tf = pytest.importorskip("tensorflow")
    real = tf.cast(clip, tf.float32)
    magnitudes = tf.abs(tf.signal.stft(real / tf.reduce_max(real), 480, 320))
    bands = tf.signal.linear_to_mel_weight_matrix(40, magnitudes.shape[-1], RATE, 20.0, 4000.0)
    levels = tf.math.log(tf.matmul(magnitudes, bands) + 1e-6)
    return tf.signal.mfccs_from_log_mel_spectrograms(levels)[:, :10, None].numpy()


def short_word() -> NDArray[np.int16]:
    clip = word_like(7)
    clip[12_000:] = 0
    return clip


@pytest.mark.parametrize(
    "clip",
    [*hiss(2), *map(word_like, range(4)), short_word(), np.eye(1, RATE, 900)[0]],
    ids=["hiss", "hiss", "word", "word", "word", "word", "padded with zeros", "one sample"],
)
def test_the_coefficients_are_those_of_tensorflow(clip: NDArray) -> None:
    np.testing.assert_allclose(mlperf_kws(clip[None])[0], expected(clip), atol=2e-4)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 8000), st.floats(0.01, 1)), min_size=1, max_size=4))
def test_tones_are_those_of_tensorflow(tones: list[tuple[float, float]]) -> None:
    time = np.arange(RATE) / RATE
    clip = hiss(1)[0] + sum(level * np.cos(2 * np.pi * hz * time) for hz, level in tones)
    clip = clip.astype(np.float32)
    np.testing.assert_allclose(mlperf_kws(clip[None])[0], expected(clip), atol=1e-3)


def test_the_form() -> None:
    features = mlperf_kws(hiss(3))
    assert features.shape == (3, 49, 10, 1)
    assert features.dtype == np.float32
    assert mlperf_kws(hiss(0)).shape == (0, 49, 10, 1)


def test_a_clip_does_not_depend_on_its_batch() -> None:
    clips = hiss(9)
    alone = np.concatenate([mlperf_kws(clip[None]) for clip in clips])
    np.testing.assert_array_equal(mlperf_kws(clips), alone)
    np.testing.assert_array_equal(mlperf_kws(clips[::-1]), alone[::-1])


def test_16_bit_samples_are_the_same_sound() -> None:
    samples = np.stack([word_like(seed) for seed in range(3)])
    floats = samples.astype(np.float32) / 32768
    np.testing.assert_array_equal(mlperf_kws(samples), mlperf_kws(floats))


@given(st.floats(0.001, 10.0))
def test_the_level_does_not_matter(gain: float) -> None:
    clip = hiss(1)
    np.testing.assert_allclose(mlperf_kws(clip * np.float32(gain)), mlperf_kws(clip), atol=1e-3)


@pytest.mark.parametrize("kind", [np.int16, np.float32])
def test_silence_is_the_logarithm_of_the_offset_alone(kind: type) -> None:
    features = mlperf_kws(np.zeros((2, RATE), kind))[..., 0]
    # A constant has nothing but its mean: 40 bands, twice, over sqrt(80).
    np.testing.assert_allclose(features[..., 0], np.log(1e-6) * np.sqrt(80), rtol=1e-5)
    np.testing.assert_allclose(features[..., 1:], 0, atol=1e-4)


@given(
    st.one_of(
        hnp.arrays(np.int16, (1, 800)),
        hnp.arrays(np.float32, (1, 800), elements=st.floats(-1, 1, width=32)),
        hnp.arrays(np.float32, (1, 800), elements=st.floats(-1, 0, width=32)),
    )
)
def test_every_sound_gives_numbers(clips: NDArray) -> None:
    before = clips.copy()
    features = mlperf_kws(clips)
    assert features.shape == (1, 2, 10, 1)
    assert np.isfinite(features).all()
    np.testing.assert_array_equal(clips, before)


@cache
def real_clips() -> tuple[str, ...]:
    """Test clips by the official list, as far as they are there; skips where there are none."""
    if not REAL.is_dir():
        pytest.skip("SNAP_DATA_DIR names no folder with speech_commands_v0.01")
    listed = (REAL / "testing_list.txt").read_text("utf-8").split()
    return tuple(name for name in listed if (REAL / name).is_file())


def reference(name: str) -> Path:
    if not (MODELS / name).is_file():
        pytest.skip("the reference models are not part of the project")
    return MODELS / name


def labels(names: tuple[str, ...]) -> NDArray[np.intp]:
    words = [name.partition("/")[0] for name in names]
    return np.array([CLASSES.index(word) if word in CLASSES else UNKNOWN for word in words])


def test_the_reference_model_knows_the_real_clips() -> None:
    graph = read_tflite(reference("kws_ref_model.tflite").read_bytes())
    names = real_clips()[::2]
    answers = labels(names)
    assert set(answers) == {*range(10), UNKNOWN}
    features = mlperf_kws(np.stack([read_clip(REAL / name) for name in names]))
    inputs = graph.tensors[graph.input].quantize(features)
    (output,) = graph.outputs.values()
    found = graph.run(inputs, {output})[output].reshape(len(inputs), -1).argmax(axis=1)
    assert np.mean(found == answers) >= 0.88


def test_published_inputs_of_the_benchmark_are_reproduced() -> None:
    """The benchmark's inputs come from clips of the same test list. Which ones is not told: a
    clip is found if all of its 490 bytes are."""
    graph = read_tflite(reference("kws_ref_model.tflite").read_bytes())
    published = np.load(reference("kws01_500.npz"))
    named = {x.tobytes(): y for x, y in zip(published["x"], published["y"], strict=True)}
    names = real_clips()
    clips = np.zeros((len(names), RATE), np.float32)
    for clip, name in zip(clips, names, strict=True):
        signal = read_signal(REAL / name)[:RATE]
        clip[: len(signal)] = signal
    taken = graph.tensors[graph.input]
    # Its script cuts the fraction off where quantize() rounds.
    steps = np.trunc(mlperf_kws(clips) / np.float32(taken.scale) + taken.zero_point)
    inputs = np.clip(steps, -128, 127).astype(np.int8)
    answers = [
        (named[x.tobytes()], label)
        for x, label in zip(inputs, labels(names), strict=True)
        if x.tobytes() in named
    ]
    assert len(answers) >= 50
    assert all(told == label for told, label in answers)
