"""How a user's raw examples become what a finished model takes, and whether that looks right."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.data.dataset import Inputs, Raw, as_real
from snapcli.data.sound.clips import CLIP_SAMPLES
from snapcli.data.sound.logmel import log_mel
from snapcli.data.sound.mfcc import mlperf_kws
from snapcli.data.wanted import Wanted
from snapcli.errors import ConfigError, UsageError, suggestion
from snapcli.usercode import called, user_function

Shape = tuple[int, ...]

# What a second of sound becomes.
_SOUND: dict[str, tuple[Callable[[Raw], Inputs], Shape]] = {
    "mlperf-kws": (mlperf_kws, (49, 10, 1)),
    "log-mel": (log_mel, (98, 40, 1)),
}
# What images become: the least and the greatest number.
_IMAGE = {"pixels": (0.0, 255.0), "unit": (0.0, 1.0), "signed": (-1.0, 1.0)}
NAMES = (*_SOUND, *_IMAGE)
_OWN = "--front-end module:function"
_ANY_IMAGE = f"Give --front-end {', '.join(_IMAGE)} or module:function: what training used."

# Of a range: its ends may be so far from those of pixels, unit or signed.
_ABOUT = 0.1
_STEPS = 255
# Steps beyond the ends. Calibration that never saw pure white cuts it off, and no harm is done.
_HARMLESS = 8
_WRONG_IF_SATURATED, _ODD_IF_SATURATED = 0.2, 0.01
# An input farther out than the range is wide is not an outlier of what the model was made for. This
# shows dark images with numbers up to 255: most of their pixels are 0, which fits every range.
_WRONG_IF_FAR = 0.01
_FEWEST_STEPS = 4
_ODD_IF_USED = 1 / 8


@dataclass(frozen=True)
class FrontEnd:
    """function: raw examples [n, ...] -> inputs [n, *shape]; note: what was assumed or looks odd,
    empty where there is nothing to tell."""

    name: str
    function: Callable[[Raw], Inputs]
    note: str = ""


def front_end_for(name: str, raw: Raw, wanted: Wanted) -> FrontEnd:
    """The front end of that name, `module:function`, or the one that fits where none is given.

    raw: examples that it will have to take; sounds are int16 [n, 16000], images uint8 or floats
    in [0, 1]. Inputs are real numbers, whatever the model makes of them.
    """
    if ":" in name:
        return FrontEnd(name, _own(name, wanted))
    if name and name not in NAMES:
        raise UsageError(
            f"there is no front end '{name}'", f"{suggestion(name, NAMES)} Yours: {_OWN}."
        )
    if raw.dtype == np.int16 and raw.ndim == 2:
        return _for_sounds(name, raw, wanted)
    if raw.dtype == np.uint8 or raw.dtype.kind == "f":
        return _for_images(name, raw, wanted)
    raise UsageError(f"no front end takes {raw.dtype} {_told(raw.shape[1:])}", f"Give {_OWN}.")


def _for_sounds(name: str, raw: Raw, wanted: Wanted) -> FrontEnd:
    if name in _IMAGE:
        raise UsageError(
            f"the front end {name} takes images, the data are sounds",
            f"Take {' or '.join(_SOUND)}, or {_OWN}.",
        )
    if raw.shape[1] != CLIP_SAMPLES:
        raise ConfigError(
            f"the sounds have {raw.shape[1]:,} samples",
            f"Give a second at 16 kHz ({CLIP_SAMPLES:,} samples), or {_OWN}.",
        )
    fitting = next((n for n, (_, made) in _SOUND.items() if _alike(made, wanted.shape)), "")
    chosen = name or fitting
    if not chosen:
        made = ", ".join(f"{n} makes {_told(shape)}" for n, (_, shape) in _SOUND.items())
        raise UsageError(
            f"the model takes {_told(wanted.shape)}, which none of our front ends makes of sounds",
            f"Give {_OWN}, or an .npz of inputs that are ready ({made}).",
        )
    function, shape = _SOUND[chosen]
    if chosen != fitting:
        raise ConfigError(
            f"{chosen} makes {_told(shape)} of a sound, the model takes {_told(wanted.shape)}",
            f"Take {fitting}." if fitting else f"Give {_OWN}.",
        )
    note = "" if name else f"front end {chosen}: it makes {_told(shape)}, which the model takes"
    return FrontEnd(chosen, _shaped(function, wanted.shape), note)


def _for_images(name: str, raw: Raw, wanted: Wanted) -> FrontEnd:
    if name in _SOUND:
        raise UsageError(
            f"the front end {name} takes sounds, the data are images",
            f"Take one of {', '.join(_IMAGE)}, or {_OWN}.",
        )
    if not _alike(raw.shape[1:], wanted.shape):
        raise ConfigError(
            f"the images are {_told(raw.shape[1:])}, the model takes {_told(wanted.shape)}",
            f"Give images of that size, or {_OWN}.",
        )
    if wanted.scale is None and not name:
        raise UsageError("a Keras model does not say which numbers it takes", _ANY_IMAGE)
    fitting = "" if wanted.scale is None else _fitting(_limits(wanted))
    chosen = name or fitting
    if not chosen:
        raise UsageError(f"{_expects(wanted)}, which none of our front ends makes", _ANY_IMAGE)
    note = ""
    if not name:
        note = f"front end {chosen}: {_expects(wanted)}"
    elif fitting not in ("", chosen):
        note = f"front end {chosen} as given; {fitting} would fit: {_expects(wanted)}"
    return FrontEnd(chosen, _shaped(_scaled(*_IMAGE[chosen]), wanted.shape), note)


def _scaled(low: float, high: float) -> Callable[[Raw], Inputs]:
    def function(x: Raw) -> Inputs:
        if x.dtype == np.uint8 and (low, high) == _IMAGE["pixels"]:
            return x.astype(np.float32)  # exact, where dividing and multiplying is not
        return as_real(x) * np.float32(high - low) + np.float32(low)

    return function


def _alike(have: Shape, want: Shape) -> bool:
    """Whether the numbers have the same order: but for axes of 1, or all of them in a row."""
    flat = want == (math.prod(have),)
    return flat or [n for n in have if n != 1] == [n for n in want if n != 1]


def _shaped(function: Callable[[Raw], Inputs], shape: Shape) -> Callable[[Raw], Inputs]:
    return lambda x: function(x).reshape(len(x), *shape)


def _own(name: str, wanted: Wanted) -> Callable[[Raw], Inputs]:
    function = user_function(name)
    contract = (
        "It must take raw examples and return as many inputs "
        f"{_told(wanted.shape)}: floats, or int8 that is quantized already."
    )

    def own(x: Raw) -> Inputs:
        # A copy: what a function changes in place stays its own.
        made = called(lambda: np.asarray(function(x.copy())), name, hint=contract)
        if made.dtype != np.int8 and made.dtype.kind != "f":
            raise ConfigError(f"{name} returned {made.dtype}", contract)
        if made.shape != (len(x), *wanted.shape):
            raise ConfigError(
                f"{name} returned {_told(made.shape)} for {len(x)} examples", contract
            )
        with np.errstate(over="ignore"):  # reported below
            real = real_inputs(made, wanted) if made.dtype == np.int8 else made.astype(np.float32)
        if not np.isfinite(real).all():
            raise ConfigError(f"{name} returned NaN or infinite numbers", "Fix it first.")
        return real

    return own


def real_inputs(x: NDArray[np.int8], wanted: Wanted) -> Inputs:
    """The real numbers of inputs that are quantized already: quantizing gives them back."""
    if wanted.scale is None or wanted.zero_point is None:
        raise ConfigError(
            "the inputs are int8, but a Keras model has no int8 input yet", "Give floats."
        )
    return np.float32(wanted.scale) * (x.astype(np.float32) - np.float32(wanted.zero_point))


def check_inputs(x: Inputs, wanted: Wanted) -> tuple[str, ...]:
    """Notes on inputs [n, *shape] that look odd; raises ConfigError if they cannot be right."""
    if x.dtype.kind != "f":
        raise ConfigError(f"the inputs are {x.dtype}", "Give floats, or int8 in an .npz.")
    if x.shape[1:] != wanted.shape:
        raise ConfigError(
            f"the inputs are {_told(x.shape[1:])}, the model takes {_told(wanted.shape)}",
            f"Give inputs of that shape, or {_OWN}.",
        )
    if not x.size:
        raise ConfigError("there are no inputs to check", "Give more data.")
    broken = int(np.sum(~np.isfinite(x.reshape(len(x), -1)).all(axis=1)))
    if broken:
        raise ConfigError(
            f"{broken} of {len(x)} inputs hold NaN or infinite numbers", "Remove or fix them."
        )
    return () if wanted.scale is None else _check_range(x, wanted)


def _check_range(x: Inputs, wanted: Wanted) -> tuple[str, ...]:
    low, high = _limits(wanted)
    # Counted from the least number that int8 can hold.
    steps = (x.astype(np.float64) - low) * (_STEPS / (high - low))
    beyond = np.maximum(-steps, steps - _STEPS)
    saturated = float(np.mean(beyond > _HARMLESS))
    used = float(np.ptp(np.clip(steps, 0, _STEPS))) / _STEPS
    if (
        saturated > _WRONG_IF_SATURATED
        or np.mean(beyond > _STEPS) > _WRONG_IF_FAR
        or np.ptp(steps) < _FEWEST_STEPS
    ):
        raise ConfigError(f"inputs {_looks(x)}, {_expects(wanted)}", _way_out(wanted))
    notes = []
    if saturated > _ODD_IF_SATURATED:
        notes.append(f"{saturated:.1%} of the numbers saturate: inputs {_looks(x)}")
    if used < _ODD_IF_USED:
        notes.append(f"inputs use {used:.1%} of the range: they {_looks(x)}")
    return tuple(f"{note}, {_expects(wanted)}" for note in notes)


def _limits(wanted: Wanted) -> tuple[float, float]:
    """The least and the greatest number that the model's int8 can hold."""
    assert wanted.scale is not None
    assert wanted.zero_point is not None
    return wanted.scale * (-128 - wanted.zero_point), wanted.scale * (127 - wanted.zero_point)


def _fitting(limits: tuple[float, float]) -> str:
    """pixels, unit or signed, if that is about the range; else empty."""
    for name, (low, high) in _IMAGE.items():
        most = _ABOUT * (high - low)
        if abs(limits[0] - low) <= most and abs(limits[1] - high) <= most:
            return name
    return ""


def _looks(x: Inputs) -> str:
    low, high = float(x.min()), float(x.max())
    like = _fitting((low, high))
    if like:
        return "look like {:g}..{:g}".format(*_IMAGE[like])
    return f"lie between {_number(low)} and {_number(high)}"


def _expects(wanted: Wanted) -> str:
    low, high = _limits(wanted)
    return (
        f"the model expects int8 with scale {wanted.scale:.2g} and zero point "
        f"{wanted.zero_point}: numbers from {_number(low)} to {_number(high)}"
    )


def _way_out(wanted: Wanted) -> str:
    fitting = _fitting(_limits(wanted))
    if not fitting:
        return f"Give numbers as in training, for example by {_OWN}."
    low, high = _IMAGE[fitting]
    return f"Give numbers from {low:g} to {high:g}, or images as uint8 with --front-end {fitting}."


def _number(value: float) -> str:
    return f"{value:.2g}" if abs(value) < 1 else f"{value:.4g}"


def _told(shape: Shape) -> str:
    return f"[{', '.join(map(str, shape))}]"
