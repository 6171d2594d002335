"""The embedded default: scikit-learn's 1,797 handwritten digits, with shifts of their own.

Everything ships inside dependencies: the digits and two photographs in scikit-learn, a
typeface in Pillow. Splits, corruptions and out-of-distribution sets do not depend on the
seed of a run.
"""

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from scipy import ndimage
from sklearn.datasets import load_digits as load_sklearn_digits
from sklearn.datasets import load_sample_images

from snapcli.data.corruptions import digits as corruptions
from snapcli.data.dataset import Dataset, Inputs, Split, as_they_are
from snapcli.data.request import Request
from snapcli.data.splits import named, without_share

SIZE = 16
_OOD_SEED = 1
_OOD_COUNT = 540
# Without the letters that are drawn like a digit: B b D g I i J j l O o q S s T Z z and y.
_LETTERS = "ACEFGHKLMNPQRUVWXYacdefhkmnprtuvwx"


def _enlarge(x8: np.ndarray) -> Inputs:
    """[n, 8, 8] in [0, 1] -> [n, 16, 16, 1], bilinear with pixel centres aligned."""
    large = ndimage.zoom(x8, (1, 2, 2), order=1, mode="nearest", grid_mode=True)
    return large[..., None].astype(np.float32)


def _augment(x: Inputs, rng: np.random.Generator) -> Inputs:
    """Up to one pixel of shift and eight degrees of turn, each image its own."""
    angles = np.deg2rad(rng.uniform(-8.0, 8.0, len(x)))
    shifts = rng.uniform(-1.0, 1.0, (len(x), 2))
    centre = (SIZE - 1) / 2
    out = np.empty_like(x)
    for i, (angle, shift) in enumerate(zip(angles, shifts, strict=True)):
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        offset = centre - turn @ np.array([centre, centre]) + shift
        out[i, ..., 0] = ndimage.affine_transform(x[i, ..., 0], turn, offset, order=1)
    return out


def _photo_patches() -> Inputs:
    """Grey patches of two photographs, each patch four times reduced: [n, 16, 16, 1]."""
    rng = np.random.default_rng(_OOD_SEED)
    greys = [
        np.asarray(image, np.float32).mean(axis=-1) / 255.0 for image in load_sample_images().images
    ]
    patches = []
    for k in range(_OOD_COUNT):
        grey = greys[k % len(greys)]
        side = 4 * SIZE
        top = rng.integers(0, grey.shape[0] - side)
        left = rng.integers(0, grey.shape[1] - side)
        patch = grey[top : top + side, left : left + side]
        patches.append(patch.reshape(SIZE, 4, SIZE, 4).mean(axis=(1, 3)))
    return np.stack(patches)[..., None].astype(np.float32)


def _matched(x: Inputs, reference: Inputs) -> Inputs:
    """x with each image's mean and deviation taken from an image of the reference."""
    rng = np.random.default_rng(_OOD_SEED + 1)
    model = reference[rng.integers(0, len(reference), len(x))]
    axes = (1, 2, 3)
    centred = x - x.mean(axes, keepdims=True)
    unit = centred / (centred.std(axes, keepdims=True) + 1e-6)
    scaled = unit * model.std(axes, keepdims=True) + model.mean(axes, keepdims=True)
    return np.clip(scaled, 0.0, 1.0).astype(np.float32)


def _letters() -> Inputs:
    """Letters drawn the way the digits were digitised: 32x32 strokes, counted in 4x4 cells."""
    rng = np.random.default_rng(_OOD_SEED + 2)
    drawn = []
    for _ in range(_OOD_COUNT):
        letter = _LETTERS[rng.integers(len(_LETTERS))]
        font = ImageFont.load_default(size=int(rng.integers(26, 36)))
        canvas = Image.new("L", (32, 32), 0)
        dx, dy = (int(v) for v in rng.integers(-2, 3, 2))
        stroke = int(rng.integers(0, 2))
        ImageDraw.Draw(canvas).text(
            (16 + dx, 16 + dy), letter, fill=255, font=font, anchor="mm", stroke_width=stroke
        )
        turned = canvas.rotate(float(rng.uniform(-10, 10)), resample=Image.Resampling.BILINEAR)
        cells = (np.asarray(turned) > 127).reshape(8, 4, 8, 4).mean(axis=(1, 3))
        drawn.append(cells)
    return _enlarge(np.stack(drawn))


def load_digits(request: Request) -> Dataset:
    """Train / dev / test: 60 / 10 / 30 %, stratified by class."""
    raw = load_sklearn_digits()
    y = raw.target.astype(np.int64)
    whole = Split(_enlarge(raw.images / 16.0), y, named("digits", len(y)))
    rest, test = without_share(whole, 0.30)
    train, dev = without_share(rest, 1 / 7)
    photos = _photo_patches()
    return Dataset(
        name="digits",
        class_names=tuple(str(d) for d in range(10)),
        train=train,
        dev=dev,
        test=test,
        corruptions={
            "gaussian_noise": corruptions.gaussian_noise,
            "impulse_noise": corruptions.impulse_noise,
            "blur": corruptions.blur,
            "contrast": corruptions.contrast,
            "brightness": corruptions.brightness,
            "rotation": corruptions.rotation,
            "translation": corruptions.translation,
            "occlusion": corruptions.occlusion,
        },
        ood={
            "photos": photos,
            "photos-matched": _matched(photos, train.x),
            "letters": _letters(),
        },
        augment=_augment if request.augments(("affine",), ("affine",)) else as_they_are,
    )
