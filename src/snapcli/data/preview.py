"""A picture of a data set: examples with their labels, foreign ones, every corruption at every
severity that it has."""

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from snapcli.data.dataset import UNGRADED, Dataset, Raw, as_real

_CLASSES, _PER_CLASS = 20, 6
_TILE = 80  # pixels that a tile is at least high
_GAP, _LABEL, _HEAD = 4, 150, 34
_INK, _PAPER = (30, 30, 30), (255, 255, 255)
# Quiet to loud, from dark blue over green to yellow: equal steps look equally bright.
_COLOURS = np.array([[13, 22, 66], [33, 84, 120], [44, 140, 120], [122, 190, 82], [250, 228, 60]])


def draw_preview(dataset: Dataset) -> Image.Image:
    """Test examples only; the corruptions are those that a monitor is judged on."""
    rng = np.random.default_rng(0)
    test = dataset.test
    names = dataset.class_names[:_CLASSES]
    rows = []
    for label, name in enumerate(names):
        of_class = np.flatnonzero(test.y == label)
        rows.append((name, test.x[np.sort(rng.permutation(of_class)[:_PER_CLASS])]))
    more = len(dataset.class_names) - len(names)
    title = f"{dataset.name}: test examples" + (f" (and {more} more classes)" if more else "")
    sections: list[tuple[str, tuple[str, ...], list[tuple[str, Raw]]]] = [(title, (), rows)]
    if dataset.ood:
        foreign = [
            (name, x[np.sort(rng.permutation(len(x))[:_PER_CLASS])])
            for name, x in dataset.ood.items()
        ]
        sections.append(("foreign examples", (), foreign))
    chosen = rng.integers(len(test), size=1)
    # A section for each scale.
    corrupted: dict[tuple[int, ...], list[tuple[str, Raw]]] = {}
    for name in dataset.corruptions:
        severities = dataset.severities("test", name)
        worse = [dataset.shifted("test", chosen, name, s, seed=0) for s in severities]
        row = name, np.concatenate([test.x[chosen], *worse])
        corrupted.setdefault(severities, []).append(row)
    for severities, shown in corrupted.items():
        one = severities == (UNGRADED,)
        heads = ("clean", *("as published" if one else f"severity {s}" for s in severities))
        sections.append(("corruptions of one severity" if one else "corruptions", heads, shown))
    return _page([(t, h, [(n, _tiles(dataset, x)) for n, x in rows]) for t, h, rows in sections])


def _tiles(dataset: Dataset, x: Raw) -> list[Image.Image]:
    if x.ndim == 2:
        # Time runs to the right, pitch upwards.
        pictures = [_heat(features[..., 0].T[::-1]) for features in dataset.front_end(x)]
    else:
        pictures = [np.rint(255 * as_real(image)).astype(np.uint8) for image in x]
    return [_tile(picture) for picture in pictures]


def _heat(values: NDArray[np.float32]) -> NDArray[np.uint8]:
    """[h, w] in deviations from the mean -> [h, w, 3]."""
    place = np.clip((values + 2.5) / 5.0, 0.0, 1.0) * (len(_COLOURS) - 1)
    anchors = np.arange(len(_COLOURS))
    channels = [np.interp(place, anchors, _COLOURS[:, c]) for c in range(3)]
    return np.rint(np.stack(channels, axis=-1)).astype(np.uint8)


def _tile(picture: NDArray[np.uint8]) -> Image.Image:
    image = Image.fromarray(picture[..., 0] if picture.shape[-1] == 1 else picture).convert("RGB")
    scale = -(-_TILE // image.height)
    size = (image.width * scale, image.height * scale)
    return image.resize(size, Image.Resampling.NEAREST)


_Row = tuple[str, list[Image.Image]]


def _page(sections: list[tuple[str, tuple[str, ...], list[_Row]]]) -> Image.Image:
    tiles = [tile for _, _, rows in sections for _, row in rows for tile in row]
    width, height = max(t.width for t in tiles), max(t.height for t in tiles)
    columns = max(len(row) for _, _, rows in sections for _, row in rows)
    lines = sum(len(rows) for _, _, rows in sections)
    heads = sum(_HEAD + (_HEAD // 2 if head else 0) for _, head, _ in sections)
    page = Image.new(
        "RGB",
        (_LABEL + columns * (width + _GAP) + _GAP, lines * (height + _GAP) + heads + _GAP),
        _PAPER,
    )
    draw = ImageDraw.Draw(page)
    small, large = ImageFont.load_default(size=13), ImageFont.load_default(size=17)
    y = 0
    for title, head, rows in sections:
        draw.text((_GAP, y + 8), title, fill=_INK, font=large)
        y += _HEAD
        if head:
            for i, name in enumerate(head):
                draw.text((_LABEL + i * (width + _GAP), y - 4), name, fill=_INK, font=small)
            y += _HEAD // 2
        for name, row in rows:
            draw.text((_GAP, y + height // 2 - 8), name[:20], fill=_INK, font=small)
            for i, tile in enumerate(row):
                page.paste(tile, (_LABEL + i * (width + _GAP), y))
            y += height + _GAP
    return page
