"""A user's own data: a folder per class of images or .wav files, or an .npz."""

import hashlib
from collections.abc import Iterable
from functools import partial

import numpy as np

from snapcli.data.corruptions import COMMON
from snapcli.data.corruptions.speech import speech_corruptions
from snapcli.data.dataset import Dataset, Raw, Split, as_real
from snapcli.data.images.augment import image_augment
from snapcli.data.images.normalise import normalised
from snapcli.data.request import Request
from snapcli.data.sets.own_content import Content
from snapcli.data.sets.own_folder import from_folder
from snapcli.data.sets.own_npz import from_npz
from snapcli.data.sound.clips import clip_augment
from snapcli.data.sound.logmel import FrontEnd, log_mel
from snapcli.data.splits import without_share
from snapcli.errors import ConfigError

_TEST_SHARE, _DEV_SHARE = 0.2, 0.125  # 70, 10 and 20 % of all


def load_own(request: Request) -> Dataset:
    """Without folders of their own, 20 % become test and 10 % dev, stratified by class."""
    assert request.path is not None
    path = request.path.resolve()
    content = from_npz(path, request) if path.is_file() else from_folder(path, request)
    name = path.stem if path.is_file() else path.name
    train, dev, test = _divided(content)
    made = partial(
        Dataset,
        name=name,
        class_names=content.class_names,
        train=train,
        dev=dev,
        test=test,
        ood={} if content.foreign is None else {"ood": content.foreign},
        notes=content.notes,
    )
    if train.x.ndim == 4:
        return made(
            corruptions=COMMON,
            front_end=normalised(*_moments(train.x)),
            augment=image_augment(request, ("crop",)),
        )
    if request.image_size or request.channels:
        raise ConfigError(f"{name} has sounds", "Leave --image-size and --channels out.")
    front_end = FrontEnd()
    augment, augment_inputs = clip_augment(request, content.noise)
    foreign = () if content.foreign is None else (content.foreign,)
    return made(
        corruptions=speech_corruptions(content.noise),
        front_end=lambda x: log_mel(x, front_end),
        augment=augment,
        augment_inputs=augment_inputs,
        identity=_identity(front_end, (train.x, dev.x, test.x, *foreign, *content.noise)),
    )


def _identity(front_end: FrontEnd, arrays: Iterable[Raw]) -> str:
    """Corruptions of sounds take long: their features are kept, by what they were made from."""
    digest = hashlib.sha256(repr(front_end).encode())
    for x in arrays:
        digest.update(f"{x.shape}".encode())
        digest.update(np.ascontiguousarray(x).data)
    return digest.hexdigest()


def _moments(x: Raw) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and deviation of each channel, rounded: short enough to write into firmware."""
    real = as_real(x)
    deviation = np.maximum(real.std(axis=(0, 1, 2)), 0.01)
    return (
        tuple(round(float(v), 4) for v in real.mean(axis=(0, 1, 2))),
        tuple(round(float(v), 4) for v in deviation),
    )


def _divided(content: Content) -> tuple[Split, Split, Split]:
    found = content.divisions
    rest = found.get("train", found.get("all"))
    if rest is None:
        raise ConfigError("the data have no training examples", "Put them into train/.")
    test, dev = found.get("test"), found.get("dev")
    if test is None:
        rest, test = without_share(rest, _TEST_SHARE)
    if dev is None:
        rest, dev = without_share(rest, _DEV_SHARE)
    order = np.random.default_rng(0).permutation(len(rest))
    return rest.take(order), dev, test
