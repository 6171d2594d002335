"""Front ends by name, by what fits and by the user; and the check of what they make."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from snapcli.data.front_ends import check_inputs, front_end_for, real_inputs
from snapcli.data.sound.logmel import log_mel
from snapcli.data.sound.mfcc import mlperf_kws
from snapcli.data.wanted import Wanted
from snapcli.errors import ConfigError, SnapError, UsageError
from snapcli.graph.graph import Tensor

CLIPS = (np.random.default_rng(0).normal(0, 3000, (3, 16_000))).astype(np.int16)
IMAGES = np.random.default_rng(1).integers(0, 256, (5, 8, 6, 3)).astype(np.uint8)
IMAGES[0, 0, 0] = (0, 128, 255)
KWS = Wanted((49, 10, 1), 12, 0.5847029, 83)
PIXELS = Wanted((8, 6, 3), 10, 1.0, -128)
UNIT = Wanted((8, 6, 3), 10, 1 / 255, -128)
SIGNED = Wanted((8, 6, 3), 10, 0.0078125, 0)
MEANS = Wanted((8, 6, 3), 10, 0.0187, -14)
KERAS = Wanted((8, 6, 3), 10)
OF_IMAGES = {"pixels": PIXELS, "unit": UNIT, "signed": SIGNED}


def refused(kind: type[SnapError], name: str, raw: NDArray, wanted: Wanted) -> tuple[str, str]:
    """Message and hint, each a line."""
    with pytest.raises(kind) as caught:
        front_end_for(name, raw, wanted).function(raw)
    return two_lines(caught.value)


def two_lines(error: SnapError) -> tuple[str, str]:
    assert error.message
    assert error.hint
    assert "\n" not in error.message + error.hint
    return error.message, error.hint


@pytest.mark.parametrize(
    ("name", "wanted", "function"),
    [("mlperf-kws", KWS, mlperf_kws), ("log-mel", Wanted((98, 40, 1), 12), log_mel)],
)
def test_sounds_get_the_front_end_of_the_model_s_shape(
    name: str, wanted: Wanted, function: Callable[[NDArray], NDArray]
) -> None:
    for given_name in ("", name):
        found = front_end_for(given_name, CLIPS, wanted)
        assert found.name == name
        np.testing.assert_array_equal(found.function(CLIPS), function(CLIPS))
        assert (name in found.note) == (not given_name)


def test_a_shape_may_lack_the_axis_of_1() -> None:
    found = front_end_for("", CLIPS, Wanted((49, 10), 12, 0.58, 83))
    np.testing.assert_array_equal(found.function(CLIPS), mlperf_kws(CLIPS)[..., 0])


def test_sounds_for_another_shape_need_a_front_end() -> None:
    message, hint = refused(UsageError, "", CLIPS, Wanted((61, 13, 1), 3))
    assert "[61, 13, 1]" in message
    assert "module:function" in hint


def test_a_sound_front_end_of_another_shape_names_the_right_one() -> None:
    message, hint = refused(ConfigError, "log-mel", CLIPS, KWS)
    assert "[98, 40, 1]" in message
    assert "[49, 10, 1]" in message
    assert "mlperf-kws" in hint


def test_sounds_last_a_second() -> None:
    message, hint = refused(ConfigError, "mlperf-kws", CLIPS[:, :300], KWS)
    assert "300" in message
    assert "16,000" in hint


@pytest.mark.parametrize("name", OF_IMAGES)
def test_images_get_the_range_of_the_model(name: str) -> None:
    low, high = {"pixels": (0, 255), "unit": (0, 1), "signed": (-1, 1)}[name]
    expected = low + IMAGES / 255 * (high - low)
    for given_name in ("", name):
        found = front_end_for(given_name, IMAGES, OF_IMAGES[name])
        assert found.name == name
        assert (name in found.note) == (not given_name)
        inputs = found.function(IMAGES)
        assert inputs.dtype == np.float32
        np.testing.assert_allclose(inputs, expected, atol=1e-6 * (high - low))
        assert check_inputs(inputs, OF_IMAGES[name]) == ()


def test_pixels_of_a_model_that_takes_bytes_stay_exact() -> None:
    inputs = front_end_for("", IMAGES, PIXELS).function(IMAGES)
    found = Tensor("x", PIXELS.shape, 1.0, -128).quantize(inputs)
    np.testing.assert_array_equal(found, (IMAGES.astype(int) - 128).astype(np.int8))


def test_images_that_are_stored_as_floats_span_the_same_range() -> None:
    floats = IMAGES.astype(np.float32) / 255
    for name, wanted in OF_IMAGES.items():
        np.testing.assert_allclose(
            front_end_for(name, floats, wanted).function(floats),
            front_end_for(name, IMAGES, wanted).function(IMAGES),
            atol=1e-4,
        )


@pytest.mark.parametrize("wanted", [MEANS, KERAS])
def test_images_for_another_range_need_a_front_end(wanted: Wanted) -> None:
    _, hint = refused(UsageError, "", IMAGES, wanted)
    for word in (*OF_IMAGES, "module:function", "--front-end"):
        assert word in hint


def test_a_keras_model_takes_the_front_end_it_is_given() -> None:
    found = front_end_for("signed", IMAGES, KERAS)
    assert found.note == ""
    assert found.function(IMAGES).min() == -1


def test_a_front_end_that_does_not_fit_is_taken_and_noted() -> None:
    found = front_end_for("unit", IMAGES, SIGNED)
    assert found.name == "unit"
    assert "signed would fit" in found.note
    assert "-1 to 0.99" in found.note


def test_images_of_another_size_are_refused() -> None:
    message, _ = refused(ConfigError, "unit", IMAGES, Wanted((8, 8, 3), 10, 1 / 255, -128))
    assert "[8, 6, 3]" in message
    assert "[8, 8, 3]" in message


def test_channels_first_are_not_mistaken_for_the_same_numbers() -> None:
    refused(ConfigError, "unit", IMAGES, Wanted((3, 8, 6), 10, 1 / 255, -128))


@pytest.mark.parametrize("shape", [(8, 6), (48,), (1, 8, 6, 1)])
def test_grey_images_fit_without_their_channel(shape: tuple[int, ...]) -> None:
    grey = IMAGES[..., :1]
    inputs = front_end_for("pixels", grey, Wanted(shape, 10)).function(grey)
    assert inputs.shape == (5, *shape)
    np.testing.assert_array_equal(inputs.reshape(5, -1), grey.reshape(5, -1))


@pytest.mark.parametrize(
    ("name", "raw", "wanted", "offer"),
    [
        ("pixels", CLIPS, KWS, "mlperf-kws"),
        ("mlperf-kws", IMAGES, PIXELS, "pixels"),
        ("pixel", IMAGES, PIXELS, "Did you mean pixels?"),
        ("fourier", IMAGES, PIXELS, "mlperf-kws, log-mel, pixels, unit, signed"),
        ("", IMAGES.astype(np.int32), PIXELS, "module:function"),
    ],
)
def test_a_name_that_cannot_be_meant_offers_others(
    name: str, raw: NDArray, wanted: Wanted, offer: str
) -> None:
    assert offer in refused(UsageError, name, raw, wanted)[1]


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A module of the user's in the current folder."""
    (tmp_path / "my_front_end.py").write_text(
        "import numpy as np\n"
        "def halves(x): return x / 510\n"
        "def stored(x): return (x.astype(int) - 128).astype(np.int8)\n"
        "def in_place(x):\n    x //= 2\n    return x.astype(np.float32)\n"
        "def nested(x): return (x / 255).tolist()\n"
        "def raising(x): raise ValueError('no such\\nthing')\n"
        "def whole(x): return x.astype(np.int64)\n"
        "def words(x): return 'inputs'\n"
        "def ragged(x): return [[1.0], [1.0, 2.0]]\n"
        "def nothing(x): return None\n"
        "def narrow(x): return x[:, 1:] / 255\n"
        "def fewer(x): return x[1:] / 255\n"
        "def hollow(x): return np.where(x == x.max(), np.nan, x / 255)\n"
        "def endless(x): return np.full(x.shape, 1e300)\n"
        "CONSTANT = 3\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "my_front_end", raising=False)
    yield "my_front_end"
    sys.modules.pop("my_front_end", None)


def test_a_function_of_the_user_makes_the_inputs(own: str) -> None:
    found = front_end_for(f"{own}:halves", IMAGES, SIGNED)
    inputs = found.function(IMAGES)
    assert found.name == f"{own}:halves"
    assert inputs.dtype == np.float32
    np.testing.assert_allclose(inputs, IMAGES / 510, atol=1e-6)
    np.testing.assert_allclose(
        front_end_for(f"{own}:nested", IMAGES, SIGNED).function(IMAGES), IMAGES / 255, atol=1e-6
    )


def test_quantized_inputs_of_the_user_keep_their_bytes(own: str) -> None:
    inputs = front_end_for(f"{own}:stored", IMAGES, SIGNED).function(IMAGES)
    found = Tensor("x", SIGNED.shape, 0.0078125, 0).quantize(inputs)
    np.testing.assert_array_equal(found, (IMAGES.astype(int) - 128).astype(np.int8))


def test_a_keras_model_has_no_quantized_inputs(own: str) -> None:
    message, _ = refused(ConfigError, f"{own}:stored", IMAGES, KERAS)
    assert "int8" in message


def test_raw_examples_are_out_of_the_user_s_reach(own: str) -> None:
    before = IMAGES.copy()
    front_end_for(f"{own}:in_place", IMAGES, PIXELS).function(IMAGES)
    np.testing.assert_array_equal(IMAGES, before)


@pytest.mark.parametrize(
    ("function", "told"),
    [
        ("raising", "ValueError: no such"),
        ("whole", "int64"),
        ("words", "<U6"),
        ("ragged", "ValueError"),
        ("nothing", "object"),
        ("narrow", "[5, 7, 6, 3]"),
        ("fewer", "[4, 8, 6, 3]"),
        ("hollow", "NaN"),
        ("endless", "infinite"),
    ],
)
def test_what_a_function_of_the_user_does_wrong_is_told(own: str, function: str, told: str) -> None:
    message, _ = refused(ConfigError, f"{own}:{function}", IMAGES, UNIT)
    assert f"{own}:{function}" in message
    assert told in message


@pytest.mark.parametrize("name", ["my_front_end:absent", "my_front_end:CONSTANT", "nowhere:f"])
def test_a_function_that_is_not_there_is_told(own: str, name: str) -> None:
    refused(UsageError, name, IMAGES, UNIT)


def checked(x: NDArray, wanted: Wanted) -> tuple[str, str]:
    with pytest.raises(ConfigError) as caught:
        check_inputs(x, wanted)
    return two_lines(caught.value)


def test_bytes_for_a_signed_model_are_explained() -> None:
    message, hint = checked(IMAGES.astype(np.float32), SIGNED)
    assert message == (
        "inputs look like 0..255, the model expects int8 with scale 0.0078 and zero point 0: "
        "numbers from -1 to 0.99"
    )
    assert "--front-end signed" in hint


@pytest.mark.parametrize("made", OF_IMAGES)
@pytest.mark.parametrize("taken", OF_IMAGES)
def test_front_ends_that_were_mixed_up_are_found(made: str, taken: str) -> None:
    """But 0..1 within -1..1, which may be meant."""
    inputs = front_end_for(made, IMAGES, OF_IMAGES[taken]).function(IMAGES)
    if made == taken or (made, taken) == ("unit", "signed"):
        assert check_inputs(inputs, OF_IMAGES[taken]) == ()
    else:
        assert f"--front-end {taken}" in checked(inputs, OF_IMAGES[taken])[1]


def test_dark_images_do_not_hide_wrong_numbers() -> None:
    dark = np.zeros((20, 8, 6, 3), np.float32)
    dark[:, 3, 3] = 200
    assert "lie between 0 and 200" in checked(dark, UNIT)[0]


def test_white_that_calibration_never_saw_does_no_harm() -> None:
    white = np.ones((4, 8, 6, 3), np.float32)
    white[:, 0] = 0
    assert check_inputs(white, Wanted((8, 6, 3), 10, 0.98 / 255, -128)) == ()
    assert check_inputs(2 * white - 1, SIGNED) == ()


def test_another_range_asks_for_the_user_s_own() -> None:
    message, hint = checked(np.full((4, 8, 6, 3), 50, np.float32), MEANS)
    assert "lie between 50 and 50" in message
    assert "module:function" in hint


@pytest.mark.parametrize(
    ("x", "told"),
    [
        (IMAGES, "uint8"),
        (IMAGES[:, 1:] / 255, "[7, 6, 3]"),
        (IMAGES[0] / 255, "[6, 3]"),
        (np.zeros((0, 8, 6, 3), np.float32), "no inputs"),
        (np.where(IMAGES == 255, np.nan, 0.5), "NaN"),
        (np.where(IMAGES == 255, np.inf, 0.5), "infinite"),
    ],
)
@pytest.mark.parametrize("wanted", [UNIT, KERAS])
def test_inputs_that_no_model_takes_are_refused(x: NDArray, told: str, wanted: Wanted) -> None:
    assert told in checked(x, wanted)[0]


def test_a_keras_model_has_no_range_yet() -> None:
    assert check_inputs(IMAGES.astype(np.float32) * 1e6, KERAS) == ()


scales = st.floats(1e-6, 1e3)
zero_points = st.integers(-128, 127)


@given(hnp.arrays(np.int8, (4, 20)), scales, zero_points)
def test_quantized_inputs_come_back_and_never_saturate(
    q: NDArray[np.int8], scale: float, zero_point: int
) -> None:
    wanted = Wanted((20,), 2, scale, zero_point)
    real = real_inputs(q, wanted)
    np.testing.assert_array_equal(Tensor("x", (20,), scale, zero_point).quantize(real), q)
    spread = int(q.max()) - int(q.min())
    assume(spread > 4)
    notes = check_inputs(real, wanted)
    assert not any("saturate" in note for note in notes)
    assert bool(notes) == (spread < 32)


@given(st.integers(0, 200), st.integers(10, 250), st.booleans(), scales, zero_points)
def test_the_share_that_saturates_decides(
    outside: int, beyond: int, above: bool, scale: float, zero_point: int
) -> None:
    """200 numbers, `outside` of them so many steps outside, the others all over the range."""
    steps = np.linspace(-128, 127, 200)
    steps[np.random.default_rng(0).permutation(200)[:outside]] = (
        127 + beyond if above else -128 - beyond
    )
    x = (scale * (steps - zero_point)).astype(np.float32).reshape(1, 200)
    wanted = Wanted((200,), 2, scale, zero_point)
    if outside > 40:
        checked(x, wanted)
    else:
        assert any("saturate" in note for note in check_inputs(x, wanted)) == (outside > 2)


@given(st.floats(0, 254), st.floats(0, 1), scales, zero_points)
def test_the_part_of_the_range_in_use_decides(
    width: float, place: float, scale: float, zero_point: int
) -> None:
    assume(min(abs(width - 4), abs(width - 255 / 8)) > 0.01)
    steps = -128 + place * (255 - width) + np.linspace(0, width, 50)
    x = (scale * (steps - zero_point)).astype(np.float32).reshape(5, 10)
    wanted = Wanted((10,), 2, scale, zero_point)
    if width < 4:
        checked(x, wanted)
    else:
        assert any("of the range" in note for note in check_inputs(x, wanted)) == (width < 255 / 8)
