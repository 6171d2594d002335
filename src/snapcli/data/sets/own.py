"""A user's own data: a folder per class of images or .wav files, or an .npz."""

import hashlib

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
    if train.x.ndim == 2:
        return _sounds(name, request, content, train, dev, test)
    return Dataset(
        name=name,
        class_names=content.class_names,
        train=train,
        dev=dev,
        test=test,
        corruptions=COMMON,
        ood={} if content.foreign is None else {"ood": content.foreign},
        front_end=normalised(*_moments(train.x)),
        augment=image_augment(request, ("crop",)),
        notes=content.notes,
    )


def _sounds(
    name: str, request: Request, content: Content, train: Split, dev: Split, test: Split
) -> Dataset:
    if request.image_size or request.channels:
        raise ConfigError(f"{name} has sounds", "Leave --image-size and --channels out.")
    front_end = FrontEnd()
    augment, augment_inputs = clip_augment(request, content.noise)
    # Corruptions of sounds take long: their features are kept, by what they were made from.
    ood = {} if content.foreign is None else {"ood": content.foreign}
    identity = hashlib.sha256(repr(front_end).encode())
    for x in (train.x, dev.x, test.x, *ood.values(), *content.noise):
        identity.update(f"{x.shape}".encode())
        identity.update(np.ascontiguousarray(x).data)
    return Dataset(
        name=name,
        class_names=content.class_names,
        train=train,
        dev=dev,
        test=test,
        corruptions=speech_corruptions(content.noise),
        ood=ood,
        front_end=lambda x: log_mel(x, front_end),
        augment=augment,
        augment_inputs=augment_inputs,
        identity=identity.hexdigest(),
        notes=content.notes,
    )


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
