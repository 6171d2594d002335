"""The cores that C is built for: what tells the compiler, and which have the DSP extension."""

from dataclasses import dataclass

from snapcli.errors import ConfigError

_SOFT = ("-mfloat-abi=soft",)
_SINGLE_V4 = ("-mfpu=fpv4-sp-d16", "-mfloat-abi=hard")
_SINGLE = ("-mfpu=fpv5-sp-d16", "-mfloat-abi=hard")
_DOUBLE = ("-mfpu=fpv5-d16", "-mfloat-abi=hard")


@dataclass(frozen=True)
class Core:
    """name: as gcc calls it. has_dsp: whether code for it may use SMLAD and its kin; where the
    architecture leaves that open (M33, M35P), gcc's name without +nodsp says that it may."""

    name: str
    floats: tuple[str, ...]
    has_dsp: bool

    @property
    def flags(self) -> tuple[str, ...]:
        return (f"-mcpu={self.name}", "-mthumb", *self.floats)


CORES = {
    "Cortex-M0": Core("cortex-m0", _SOFT, has_dsp=False),
    "Cortex-M0+": Core("cortex-m0plus", _SOFT, has_dsp=False),
    "Cortex-M3": Core("cortex-m3", _SOFT, has_dsp=False),
    "Cortex-M23": Core("cortex-m23", _SOFT, has_dsp=False),
    "Cortex-M4": Core("cortex-m4", _SOFT, has_dsp=True),
    "Cortex-M4F": Core("cortex-m4", _SINGLE_V4, has_dsp=True),
    "Cortex-M7": Core("cortex-m7", _DOUBLE, has_dsp=True),
    "Cortex-M33": Core("cortex-m33", _SINGLE, has_dsp=True),
    "Cortex-M35P": Core("cortex-m35p", _SINGLE, has_dsp=True),
    "Cortex-M55": Core("cortex-m55", _DOUBLE, has_dsp=True),
    "Cortex-M85": Core("cortex-m85", _DOUBLE, has_dsp=True),
}


def core_of(name: str) -> Core:
    """The core of that name, as Arm writes it."""
    if name not in CORES:
        raise ConfigError(f"unknown core '{name}'", f"Known: {', '.join(CORES)}.")
    return CORES[name]
