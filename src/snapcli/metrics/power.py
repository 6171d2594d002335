"""Energy of inferences from the trace of a power analyser (docs/bench.md).

The marker is high while an inference runs. It is sampled like everything else, so an edge lies
somewhere between two samples; it is taken to lie half way, where the power is that of the straight
line between them. Energy is the integral under those lines from edge to edge.
"""

import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from snapcli.array import Array, Bools
from snapcli.errors import UsageError
from snapcli.limits import DATA_MAX, TooLargeError, check_held

TIME, CURRENT, POWER, VOLTAGE, MARKER = "time_s", "current_a", "power_w", "voltage_v", "marker"
# Below this an edge that is half a sample off is more than a few percent of the window.
FEWEST_SAMPLES = 10
_HEADER_MAX, _ROWS_MAX = 4096, 20_000_000
_FORMAT = "The format is in docs/bench.md: time_s, current_a or power_w, marker."


@dataclass(frozen=True, eq=False)
class Trace:
    """time_s [n] rises, power_w [n] and marker [n] are as sampled. supply_voltage: what a current
    was multiplied with, None where the trace itself says it."""

    time_s: Array
    power_w: Array
    marker: Bools
    supply_voltage: float | None = None


@dataclass(frozen=True, eq=False)
class Windows:
    """The marker's pulses, in order, each [n]; samples counts those with the marker high."""

    energy_j: Array
    duration_s: Array
    samples: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.energy_j)

    def last(self, count: int) -> "Windows":
        first = len(self) - count
        return Windows(self.energy_j[first:], self.duration_s[first:], self.samples[first:])


def read_trace(path: Path, supply_voltage: float | None = None) -> Trace:
    """supply_voltage: for a trace of the current without a column of its own for it."""
    try:
        check_held(path.stat().st_size, "it", DATA_MAX)
        with path.open(encoding="utf-8-sig") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a file without rows, which is reported below
            names = [name.strip() for name in file.readline(_HEADER_MAX).split(",")]
            wanted = _columns(path, names, supply_voltage)
            places = [names.index(name) for name in wanted]
            rows = np.loadtxt(
                file, delimiter=",", comments=None, usecols=places, ndmin=2, max_rows=_ROWS_MAX
            )
            if file.readline(_HEADER_MAX):
                raise TooLargeError(f"it has more than {_ROWS_MAX:,} samples")
    except OSError as error:
        reason = (error.strerror or "unknown reason").lower()
        raise UsageError(
            f"cannot read {path}: {reason}", "Give the path of a .csv trace."
        ) from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not text", _FORMAT) from None
    except TooLargeError as error:
        raise UsageError(f"cannot read {path}: {error}", "Record a shorter trace.") from None
    except ValueError:
        line = _first_bad_line(path, places)
        raise UsageError(f"{path}, line {line}: not a row of numbers", _FORMAT) from None
    if not len(rows):
        raise UsageError(f"{path} holds no samples", _FORMAT)
    columns = dict(zip(wanted, rows.T, strict=True))
    _check(path, columns)
    marker = columns[MARKER] == 1
    if POWER in columns:
        return Trace(columns[TIME], columns[POWER], marker, None)
    if VOLTAGE in columns:
        return Trace(columns[TIME], columns[CURRENT] * columns[VOLTAGE], marker, None)
    assert supply_voltage is not None
    return Trace(columns[TIME], columns[CURRENT] * supply_voltage, marker, supply_voltage)


def _first_bad_line(path: Path, places: list[int]) -> int:
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, start=1):
            cells = line.split(",")
            try:
                if number > 1 and line.strip():
                    [float(cells[place]) for place in places]
            except (ValueError, IndexError):
                break
    return number


def _columns(path: Path, names: list[str], supply_voltage: float | None) -> list[str]:
    """Those that are read, of the ones that the header names."""
    for name in (TIME, MARKER):
        if name not in names:
            raise UsageError(f"{path} has no column {name}", _FORMAT)
    if (CURRENT in names) == (POWER in names):
        both = "both" if CURRENT in names else "neither"
        raise UsageError(f"{path} has {both} {CURRENT} and {POWER}", f"Leave one. {_FORMAT}")
    if POWER in names:
        return [TIME, POWER, MARKER]
    if VOLTAGE in names:
        return [TIME, CURRENT, VOLTAGE, MARKER]
    if supply_voltage is None:
        raise UsageError(
            f"{path} holds a current, but no {VOLTAGE}",
            "Say what the board is supplied with, for example: --supply-voltage 3.3",
        )
    return [TIME, CURRENT, MARKER]


def _check(path: Path, columns: dict[str, Array]) -> None:
    def line(wrong: Bools) -> int:
        """In the file, whose first line is the header."""
        return int(np.argmax(wrong)) + 2

    for name, values in columns.items():
        wrong = ~np.isfinite(values)
        if wrong.any():
            raise UsageError(f"{path}, line {line(wrong)}: {name} is not a number", _FORMAT)
    wrong = np.diff(columns[TIME], prepend=-np.inf) <= 0
    if wrong.any():
        raise UsageError(
            f"{path}, line {line(wrong)}: {TIME} does not rise", "Sort the samples by time."
        )
    wrong = ~np.isin(columns[MARKER], (0, 1))
    if wrong.any():
        raise UsageError(
            f"{path}, line {line(wrong)}: {MARKER} is neither 0 nor 1",
            "Compare the marker's voltage with half of the supply, and write the result.",
        )


def windows(trace: Trace) -> Windows:
    """Every pulse whose two edges were recorded."""
    edges = np.diff(trace.marker.astype(np.int8))
    up, down = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    if len(down) and (not len(up) or down[0] < up[0]):
        down = down[1:]  # it began before the trace
    up = up[: len(down)]  # the last one may not end in it
    if not len(up):
        return Windows(np.empty(0), np.empty(0), np.empty(0, np.int64))
    # Half of each segment beside an edge belongs to the pulse. Its mean power is that of the
    # point a quarter of the way from the high sample.
    step = np.diff(trace.time_s)
    power = trace.power_w
    between = step * (power[1:] + power[:-1]) / 2
    before = step[up] / 2 * (0.75 * power[up + 1] + 0.25 * power[up])
    behind = step[down] / 2 * (0.75 * power[down] + 0.25 * power[down + 1])
    first, last = up + 1, down
    # Sums of between[first:last], each by itself: a running sum would lose digits in a long trace.
    inside = np.add.reduceat(between, np.stack([first, last], axis=1).ravel())[::2]
    return Windows(
        energy_j=before + np.where(first < last, inside, 0.0) + behind,
        duration_s=(trace.time_s[last] - trace.time_s[first]) + (step[up] + step[down]) / 2,
        samples=last - first + 1,
    )


@dataclass(frozen=True)
class EnergyPerInference:
    """Of one inference, in microjoules, over `inferences` of them.

    windows: pulses in the trace. window_us: mean length of those that count. samples: in the
    shortest of them. supply_voltage: what was given by hand, None where the trace says it.
    """

    inferences: int
    mean_uj: float
    deviation_uj: float
    minimum_uj: float
    maximum_uj: float
    windows: int
    window_us: float
    samples: int
    supply_voltage: float | None


def energy(trace: Trace, inferences: int) -> EnergyPerInference:
    """Of the last `inferences` pulses; UsageError where the trace cannot hold them."""
    pulses = windows(trace)
    if not trace.marker.any():
        raise UsageError(
            "the marker never rises in this trace",
            "Connect the board's marker pin (docs/bench.md) and record while snap bench runs.",
        )
    if trace.marker[-1]:
        raise UsageError(
            "the trace ends in the middle of an inference",
            "Stop recording after snap bench has ended.",
        )
    if len(pulses) < inferences:
        raise UsageError(
            f"the trace shows {len(pulses):,} inferences, the bench timed {inferences:,}",
            "Start recording before snap bench and stop after it, fast enough to see each pulse.",
        )
    timed = pulses.last(inferences)
    uj = timed.energy_j * 1e6
    return EnergyPerInference(
        inferences=inferences,
        mean_uj=float(uj.mean()),
        deviation_uj=float(uj.std()),
        minimum_uj=float(uj.min()),
        maximum_uj=float(uj.max()),
        windows=len(pulses),
        window_us=float(timed.duration_s.mean() * 1e6),
        samples=int(timed.samples.min()),
        supply_voltage=trace.supply_voltage,
    )
