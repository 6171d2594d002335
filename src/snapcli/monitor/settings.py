"""The settings block (SPEC 3.6): what calibration fits, as bytes that a device can exchange.

One list of fields says it all: the bytes here and the C struct in emit/settings.py follow it.
"""

import zlib
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from snapcli.config import SIGNALS
from snapcli.fixedpoint import Budget, Hidden, MapClassGated, MapIsotonic, MapLogistic
from snapcli.monitor.alarm import FieldAlarm
from snapcli.monitor.decision import DeviceMap, Gated
from snapcli.monitor.monitor import Monitor
from snapcli.score.maps import MAX_BREAKPOINTS

MAGIC = int.from_bytes(b"SNPS", "little")
HEADER_BYTES = 16
_CHECK_AT, _REPLACES_AT = 8, 12
# In front of what belongs to F.
FOREIGN_PREFIX = "foreign_"
# Of the members of the struct that the alarm's kernel is given.
ALARM_PREFIX = "alarm."
_NO_CONTROLLER = Budget(0, 0, 0, 0)


@dataclass(frozen=True, eq=False)
class Field:
    """values [n] in the type of the device; a scalar has n = 1."""

    name: str
    values: NDArray[np.generic]
    scalar: bool


def settings_fields(monitor: Monitor) -> list[Field]:
    """All that follows the model id and the layout, in order."""
    decision, confidence = monitor.decision, monitor.confidence
    controller = decision.controller or _NO_CONTROLLER
    return [
        _scalar("threshold_q16", decision.threshold_q16, np.uint32),
        _scalar("controlled", int(decision.controller is not None), np.uint32),
        _scalar("budget_q24", controller.budget_q24, np.int32),
        _scalar("eta_q24", controller.eta_q24, np.int32),
        _scalar("kappa_q24", controller.kappa_q24, np.int32),
        _scalar("first_threshold_q24", controller.threshold_q24, np.int32),
        _scalar("alpha_q16", decision.alpha_q16, np.uint32),
        Field("weight_q16", np.array(decision.weight_q16, np.uint32), False),
        *map_fields(decision.map),
        _scalar("foreign_threshold_q16", decision.foreign_threshold_q16, np.uint32),
        *(
            replace(field, name=f"{FOREIGN_PREFIX}{field.name}")
            for field in map_fields(decision.foreign)
        ),
        _scalar("step_q16", confidence.step_q16, np.int32),
        Field("exp_q15", confidence.exp_q15, False),
        *_alarm_fields(monitor.alarm),
    ]


def _alarm_fields(alarm: FieldAlarm) -> list[Field]:
    """There whether or not an alarm has been fitted, so that one can be given to a device; behind
    the signal the members of struct snapuq_alarm."""
    parameters = alarm.parameters
    fields = [_scalar("alarm_signal", SIGNALS.index(alarm.signal), np.uint32)]
    for name, value in vars(parameters).items():
        member = f"{ALARM_PREFIX}{name}"
        if isinstance(value, np.ndarray):
            fields.append(Field(member, value, False))
        else:
            unsigned = name in ("detector", "baseline")
            fields.append(_scalar(member, value, np.uint32 if unsigned else np.int32))
    return fields


def layout_of(monitor: Monitor) -> int:
    """CRC-32 of the text that names kind and sizes; what differs here needs another image."""
    decision = monitor.decision
    kind = type(decision.map).__name__
    if isinstance(decision.map, Gated):
        kind += f"({', '.join(decision.map.inputs)}; third {decision.third})"
    kind += f", foreign({', '.join(decision.foreign.inputs)})"
    sizes = ", ".join(f"{field.name} {field.values.size}" for field in settings_fields(monitor))
    return zlib.crc32(f"{kind}: {sizes}".encode())


def pack_settings(monitor: Monitor, model_id: str, replaces: int = 0) -> bytes:
    """model_id: 16 hex digits. replaces: the check of the block that this one stands in for, 0
    for the one inside of an image."""
    content = bytes.fromhex(model_id) + layout_of(monitor).to_bytes(4, "little")
    content += b"".join(
        field.values.astype(field.values.dtype.newbyteorder("<")).tobytes()
        for field in settings_fields(monitor)
    )
    assert len(content) % 4 == 0
    header = (MAGIC, HEADER_BYTES + len(content), zlib.crc32(content), replaces)
    return b"".join(word.to_bytes(4, "little") for word in header) + content


def check_of(block: bytes) -> int:
    """The number that names these settings."""
    return int.from_bytes(block[_CHECK_AT:_REPLACES_AT], "little")


def map_fields(device_map: DeviceMap) -> list[Field]:
    """Named as the members of the C struct; none is empty."""
    if isinstance(device_map, Gated):
        gated = device_map.parameters
        return [
            _scalar("b0_q16", gated.b0_q16, np.int32),
            _scalar("b2_q16", gated.b2_q16, np.int32),
            *(
                [
                    Field("slope_q16", gated.slope_q16, False),
                    Field("theta_q16", gated.theta_q16, False),
                ]
                if device_map.inputs
                else []
            ),
        ]
    if isinstance(device_map, MapClassGated):
        scalars = ("b0_q16", "b2_q16", "familiar_q16")
        fields = [
            _scalar(name, values, np.int32) if name in scalars else Field(name, values, False)
            for name, values in vars(device_map).items()
            if name != "hidden" and (name in scalars or values.size)
        ]
        return [*fields, *hidden_fields(device_map.hidden)]
    if isinstance(device_map, MapLogistic):
        names = ("b0_q16", "b1_q16", "b2_q16")
        return [_scalar(name, getattr(device_map, name), np.int32) for name in names]
    assert isinstance(device_map, MapIsotonic)
    # Room for the most there can be: another calibration may have another number.
    return [
        _scalar("gamma_q16", device_map.gamma_q16, np.uint32),
        _scalar("breakpoints", len(device_map.breakpoint_q16), np.int32),
        Field("breakpoint_q16", _padded(device_map.breakpoint_q16, MAX_BREAKPOINTS), False),
        Field("value_q16", _padded(device_map.value_q16, MAX_BREAKPOINTS + 1), False),
    ]


def hidden_fields(layer: Hidden | None) -> list[Field]:
    """Named as the members of its C struct, with hidden_ in front."""
    parts = vars(layer) if layer else {}
    return [Field(f"hidden_{name}", values.ravel(), False) for name, values in parts.items()]


def _scalar(name: str, value: int, dtype: type) -> Field:
    return Field(name, np.array([value], dtype), True)


def _padded(values: NDArray[np.uint32], size: int) -> NDArray[np.uint32]:
    return np.pad(values, (0, size - len(values)))
