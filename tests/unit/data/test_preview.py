"""The picture of a data set shows its own pixels, where they belong."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from PIL import Image

from snapcli.config import TrainOptions
from snapcli.data import Dataset, Split, load_dataset
from snapcli.data import preview as page
from snapcli.data.corruptions.speech import speech_corruptions
from snapcli.data.dataset import SEVERITIES, UNGRADED, Published, Raw, as_real
from snapcli.data.preview import draw_preview
from snapcli.data.sound.logmel import log_mel

PER_CLASS = 8


def darker(x: np.ndarray, severity: int, rng: np.random.Generator) -> np.ndarray:
    return x * np.float32(1 - 0.15 * severity)


def split(x: Raw, classes: int) -> Split:
    n = len(x)
    return Split(x, np.arange(n) % classes, np.array([str(i) for i in range(n)]))


def toy(
    classes: int = 3, side: int = 16, channels: int = 3, corruptions: int = 2, ood: int = 1
) -> Dataset:
    """Random images, no two alike."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (classes * PER_CLASS, side, side, channels), np.uint8)
    foreign = rng.integers(0, 256, (ood, 7, side, side, channels), np.uint8)
    parts = split(x, classes)
    return Dataset(
        name="toy",
        class_names=tuple(f"class {i}" for i in range(classes)),
        train=parts,
        dev=parts,
        test=parts,
        corruptions={f"darker {i}": darker for i in range(corruptions)},
        ood={f"other {i}": images for i, images in enumerate(foreign)},
    )


@pytest.fixture(scope="module")
def digits() -> Dataset:
    return load_dataset(TrainOptions())


class Page:
    """Reads tiles back: what the picture shows at a line of a section and a column."""

    def __init__(self, dataset: Dataset) -> None:
        self.image = draw_preview(dataset)
        self.pixels = np.asarray(self.image)
        height, width = dataset.test.x.shape[1:3]
        self.scale = -(-page._TILE // height)
        self.height, self.width = height * self.scale, width * self.scale
        self.channels = dataset.test.x.shape[3]
        lines = [min(len(dataset.class_names), page._CLASSES), len(dataset.ood)]
        # Classes, foreign examples, corruptions: where the first line of each begins.
        step = self.height + page._GAP
        self.tops = [page._HEAD]
        self.tops.append(self.tops[0] + lines[0] * step + page._HEAD)
        after = self.tops[1] + lines[1] * step if dataset.ood else self.tops[0] + lines[0] * step
        self.tops.append(after + page._HEAD + page._HEAD // 2)

    def tile(self, section: int, line: int, column: int) -> np.ndarray:
        """[height, width, channels] as it was before it was enlarged."""
        top = self.tops[section] + line * (self.height + page._GAP)
        left = page._LABEL + column * (self.width + page._GAP)
        large = self.pixels[top : top + self.height, left : left + self.width]
        small = large[:: self.scale, :: self.scale]
        np.testing.assert_array_equal(
            large, small.repeat(self.scale, axis=0).repeat(self.scale, axis=1)
        )
        if self.channels == 1:
            assert (small == small[..., :1]).all()
        return small[..., : self.channels]


def shown(x: Raw) -> np.ndarray:
    """What a picture can show of an example."""
    return np.rint(255 * as_real(x)).astype(np.uint8)


@pytest.fixture(params=["colour", "grey", "large", "floats"])
def any_kind(request: pytest.FixtureRequest, digits: Dataset) -> Dataset:
    kinds: dict[str, Callable[[], Dataset]] = {
        "colour": toy,
        "grey": partial(toy, channels=1, side=28),
        "large": partial(toy, side=100),
        "floats": lambda: digits,
    }
    return kinds[request.param]()


def test_every_line_of_a_class_shows_its_test_examples(any_kind: Dataset) -> None:
    found = Page(any_kind)
    test = any_kind.test
    for label in range(len(any_kind.class_names)):
        own = {shown(x).tobytes() for x in test.x[test.y == label]}
        tiles = {found.tile(0, label, column).tobytes() for column in range(page._PER_CLASS)}
        assert len(tiles) == page._PER_CLASS
        assert tiles <= own


def test_foreign_examples_have_a_line_for_each_set(any_kind: Dataset) -> None:
    found = Page(any_kind)
    for line, images in enumerate(any_kind.ood.values()):
        own = {shown(x).tobytes() for x in images}
        tiles = {found.tile(1, line, column).tobytes() for column in range(page._PER_CLASS)}
        assert tiles <= own


def test_a_corruption_grows_from_left_to_right(any_kind: Dataset) -> None:
    found = Page(any_kind)
    test = any_kind.test
    clean = found.tile(2, 0, 0)
    (row,) = (i for i, x in enumerate(test.x) if np.array_equal(shown(x), clean))
    for line, name in enumerate(any_kind.corruptions):
        np.testing.assert_array_equal(found.tile(2, line, 0), clean)
        for severity in SEVERITIES:
            worse = any_kind.corrupted(test.x[row : row + 1], name, severity, seed=0)[0]
            np.testing.assert_array_equal(found.tile(2, line, severity), shown(worse))


def test_published_corruptions_are_shown_where_there_are_any() -> None:
    dataset = toy()
    bright = np.full_like(dataset.test.x, 200)
    official = Published(SEVERITIES, lambda severity: bright + np.uint8(severity))
    found = Page(replace(dataset, published={"darker 1": official}))
    for severity in SEVERITIES:
        assert (found.tile(2, 1, severity) == 200 + severity).all()
        assert not (found.tile(2, 0, severity) == 200 + severity).all()


def test_what_has_one_severity_is_shown_once_and_apart() -> None:
    dataset = toy()
    bright = np.full_like(dataset.test.x, 200)
    official = Published((UNGRADED,), lambda severity: bright)
    found = Page(replace(dataset, published={"darker 0": official}))
    # The type that has five comes in a section of its own, behind one line.
    between = page._HEAD + page._HEAD // 2
    found.tops.append(found.tops[2] + found.height + page._GAP + between)
    np.testing.assert_array_equal(found.tile(2, 0, 0), found.tile(3, 0, 0))
    assert (found.tile(2, 0, 1) == 200).all()
    assert (found.tile(2, 0, 2) == 255).all()  # paper
    assert not (found.tile(3, 0, 5) == 200).all()


def test_the_page_grows_by_a_line_for_each_class_set_and_corruption() -> None:
    before = draw_preview(toy())
    line = 16 * 5 + page._GAP
    for larger in (toy(classes=4), toy(ood=2), toy(corruptions=3)):
        after = draw_preview(larger)
        assert after.size == (before.width, before.height + line)
    assert before.width == page._LABEL + 6 * (16 * 5 + page._GAP) + page._GAP


def test_without_foreign_examples_their_section_is_left_out() -> None:
    line = 16 * 5 + page._GAP
    none = toy(ood=0)
    assert draw_preview(none).height == draw_preview(toy()).height - line - page._HEAD
    clean = Page(none).tile(2, 0, 0)
    assert any(np.array_equal(clean, x) for x in none.test.x)


def test_many_classes_are_cut_to_the_first_ones() -> None:
    assert draw_preview(toy(classes=30)).size == draw_preview(toy(classes=page._CLASSES)).size


def test_a_class_with_few_or_no_test_examples_is_no_problem() -> None:
    dataset = toy()
    few = dataset.test.take(np.flatnonzero(dataset.test.y != 1)[:5])
    found = Page(replace(dataset, test=few))
    blank = found.tile(0, 1, 0)
    assert (blank == 255).all()


def test_the_same_data_give_the_same_picture() -> None:
    assert draw_preview(toy()).tobytes() == draw_preview(toy()).tobytes()


def test_titles_and_names_are_written() -> None:
    """Left of every line and above every section there is ink."""
    found = Page(toy())
    for section, lines in enumerate((3, 1, 2)):
        top = found.tops[section]
        assert found.pixels[top - page._HEAD : top, : page._LABEL].min() < 100
        for line in range(lines):
            start = top + line * (found.height + page._GAP)
            assert found.pixels[start : start + found.height, : page._LABEL].min() < 100


def test_sounds_are_shown_with_high_pitch_above_low() -> None:
    time = np.arange(16_000) / 16_000
    pitches = (300.0, 4_000.0)
    tones = [np.rint(9_000 * np.sin(2 * np.pi * hz * time)).astype(np.int16) for hz in pitches]
    noise = np.random.default_rng(0).normal(0, 300, (4, 16_000)).astype(np.int16)
    clips = np.stack([tones[i % 2] + noise[i] for i in range(4)])
    parts = split(clips, 2)
    dataset = Dataset(
        name="tones",
        class_names=("low", "high"),
        train=parts,
        dev=parts,
        test=parts,
        corruptions={"band_limit": speech_corruptions(())["band_limit"]},
        ood={"noise": noise},
        front_end=log_mel,
    )
    pixels = np.asarray(draw_preview(dataset).convert("L"), float)
    # 98 frames wide, 40 bands high, twice as large; a line for each class.
    heights = []
    for label in range(2):
        top = page._HEAD + label * (80 + page._GAP)
        tile = pixels[top : top + 80, page._LABEL : page._LABEL + 2 * 98]
        rows = tile.mean(axis=1)[::2]
        band = int(np.argmax(log_mel(clips[label : label + 1])[0, :, :, 0].mean(axis=0)))
        assert rows[39 - band] == rows.max() > rows.mean() + 50
        heights.append(39 - band)
    assert heights[1] < heights[0]


def test_the_picture_is_in_colour_and_can_be_saved(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.mktemp("preview") / "a.png"
    picture = draw_preview(toy())
    assert picture.mode == "RGB"
    picture.save(path)
    with Image.open(path) as read:
        np.testing.assert_array_equal(np.asarray(read), np.asarray(picture))
