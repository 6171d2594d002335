"""A user's own data: a folder per class of images or .wav files, or an .npz."""

from functools import partial

import numpy as np

from snapcli.data.corruptions import COMMON
from snapcli.data.corruptions.speech import speech_corruptions
from snapcli.data.dataset import Dataset, Raw, as_real
from snapcli.data.files.features import hash_of
from snapcli.data.images.augment import image_augment
from snapcli.data.images.normalise import normalised
from snapcli.data.request import Request
from snapcli.data.sound.clips import clip_augment
from snapcli.data.sound.logmel import FrontEnd, log_mel
from snapcli.data.splits import divided
from snapcli.data.user.training_folder import from_folder
from snapcli.data.user.training_npz import from_npz
from snapcli.errors import ConfigError

_DEV_SHARE = 0.1


def load_own(request: Request) -> Dataset:
    """Without folders of their own, 20 % become test and 10 % dev, stratified by class."""
    assert request.path is not None
    path = request.path.resolve()
    content = from_npz(path, request) if path.is_file() else from_folder(path, request)
    name = path.stem if path.is_file() else path.name
    train, dev, test = divided(content.divisions, _DEV_SHARE)
    made = partial(
        Dataset,
        name=name,
        class_names=content.class_names,
        train=train,
        dev=dev,
        test=test,
        ood=content.ood,
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
    return made(
        corruptions=speech_corruptions(content.noise),
        front_end=lambda x: log_mel(x, front_end),
        augment=augment,
        augment_inputs=augment_inputs,
        # Corruptions of sounds take long.
        identity=hash_of(
            repr(front_end), (train.x, dev.x, test.x, *content.ood.values(), *content.noise)
        ),
    )


def _moments(x: Raw) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and deviation of each channel, rounded: short enough to write into firmware."""
    real = as_real(x)
    deviation = np.maximum(real.std(axis=(0, 1, 2)), 0.01)
    return (
        tuple(round(float(v), 4) for v in real.mean(axis=(0, 1, 2))),
        tuple(round(float(v), 4) for v in deviation),
    )
