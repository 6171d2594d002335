"""Energy from traces whose integral is known, and traces that cannot be used."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from snapcli.errors import UsageError
from snapcli.metrics.power import Trace, energy, read_trace, windows


def pulses(samples: list[int], gaps: list[int]) -> np.ndarray:
    """A marker: gap, pulse, gap, pulse, ..., gap, each of so many samples."""
    parts = [np.zeros(gaps[0], bool)]
    for high, low in zip(samples, gaps[1:], strict=True):
        parts += [np.ones(high, bool), np.zeros(low, bool)]
    return np.concatenate(parts)


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    count = draw(st.integers(1, 6))
    samples = draw(st.lists(st.integers(1, 30), min_size=count, max_size=count))
    gaps = draw(st.lists(st.integers(1, 9), min_size=count + 1, max_size=count + 1))
    marker = pulses(samples, gaps)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    time = np.cumsum(rng.uniform(1e-6, 1e-4, len(marker)))
    return Trace(time, rng.uniform(0, 0.5, len(marker)), marker)


def edges_of(trace: Trace) -> list[tuple[float, float]]:
    """By the rule of docs/bench.md, a sample at a time: half way between two samples."""
    found, start = [], None
    for i in range(1, len(trace.marker)):
        half = (trace.time_s[i - 1] + trace.time_s[i]) / 2
        if trace.marker[i] and not trace.marker[i - 1]:
            start = half
        if trace.marker[i - 1] and not trace.marker[i] and start is not None:
            found.append((start, half))
            start = None
    return found


@given(traces())
def test_noise_is_integrated_as_numpy_does(trace: Trace) -> None:
    found = windows(trace)
    expected = edges_of(trace)
    assert len(found) == len(expected)
    for i, (start, end) in enumerate(expected):
        inside = trace.time_s[(trace.time_s > start) & (trace.time_s < end)]
        time = np.concatenate([[start], inside, [end]])
        area = np.trapezoid(np.interp(time, trace.time_s, trace.power_w), time)
        assert found.energy_j[i] == pytest.approx(area, rel=1e-9)
        assert found.duration_s[i] == pytest.approx(end - start, rel=1e-9)
        assert found.samples[i] == len(inside)


@given(traces(), st.floats(1e-6, 10))
def test_constant_power_gives_power_times_duration(trace: Trace, power: float) -> None:
    found = windows(Trace(trace.time_s, np.full(len(trace.time_s), power), trace.marker))
    np.testing.assert_allclose(found.energy_j, power * found.duration_s, rtol=1e-9)


@given(traces(), st.floats(0, 100), st.floats(0, 1))
def test_a_ramp_gives_its_area(trace: Trace, slope: float, level: float) -> None:
    found = windows(Trace(trace.time_s, level + slope * trace.time_s, trace.marker))
    for i, (a, b) in enumerate(edges_of(trace)):
        area = level * (b - a) + slope * (b**2 - a**2) / 2
        assert found.energy_j[i] == pytest.approx(area, rel=1e-6, abs=1e-15)


def test_a_pulse_that_began_before_the_trace_is_none() -> None:
    marker = np.concatenate([np.ones(3, bool), pulses([5, 7], [4, 4, 4])])
    time = np.arange(len(marker)) * 1e-3
    assert windows(Trace(time, np.ones(len(time)), marker)).samples.tolist() == [5, 7]


def test_the_last_pulses_are_the_timed_ones() -> None:
    marker = pulses([20, 20, 40, 40], [5] * 5)
    time = np.arange(len(marker)) * 1e-6
    found = energy(Trace(time, np.full(len(time), 0.1), marker, 3.3), 2)
    assert (found.inferences, found.windows, found.samples) == (2, 4, 40)
    assert found.mean_uj == pytest.approx(0.1 * 40)
    assert found.minimum_uj == pytest.approx(found.maximum_uj)
    assert found.deviation_uj == pytest.approx(0, abs=1e-9)
    assert found.window_us == pytest.approx(40)
    assert found.supply_voltage == 3.3


@pytest.mark.parametrize(
    ("marker", "inferences", "said"),
    [
        (np.zeros(9, bool), 1, "never rises"),
        (np.array([0, 1, 1, 0, 1], bool), 1, "ends in the middle"),
        (pulses([3, 3], [2, 2, 2]), 3, "shows 2 inferences, the bench timed 3"),
    ],
)
def test_a_trace_of_another_bench_is_refused(
    marker: np.ndarray, inferences: int, said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        energy(Trace(np.arange(len(marker)) * 1.0, np.ones(len(marker)), marker), inferences)


# ---- The file ---------------------------------------------------------------


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "trace.csv"
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "volts"),
    [
        ("time_s,power_w,marker\n0,0.2,0\n1e-3,0.4,1\n", None),
        ("\ufefftime_s, current_a, voltage_v, marker\r\n0,0.1,2,0\r\n1e-3,0.2,2,1\r\n", None),
        ("marker,note,time_s,current_a\n0,a,0,0.1\n1,b,0.001,0.2\n\n", 2.0),
    ],
)
def test_power_or_current_with_a_voltage(tmp_path: Path, text: str, volts: float | None) -> None:
    trace = read_trace(written(tmp_path, text), volts)
    np.testing.assert_allclose(trace.time_s, [0, 1e-3])
    np.testing.assert_allclose(trace.power_w, [0.2, 0.4])
    assert trace.marker.tolist() == [False, True]
    assert trace.supply_voltage == volts


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no column time_s"),
        ("time_s,power_w,marker\n", "holds no samples"),
        ("time_s;power_w;marker\n0;1;0\n", "no column time_s"),
        ("0,1,0\n1,1,1\n", "no column time_s"),
        ("time_s,power_w\n0,1\n", "no column marker"),
        ("time_s,marker\n0,1\n", "neither current_a and power_w"),
        ("time_s,power_w,current_a,marker\n0,1,1,0\n", "both current_a and power_w"),
        ("time_s,current_a,marker\n0,1,0\n", "but no voltage_v"),
        ("time_s,power_w,marker\n0,1,0\n1,nan,0\n", "line 3: power_w is not a number"),
        ("time_s,power_w,marker\n0,1,0\n1,inf,0\n", "line 3: power_w is not a number"),
        ("time_s,power_w,marker\n0,1,0\n2,1,1\n1,1,0\n", "line 4: time_s does not rise"),
        ("time_s,power_w,marker\n0,1,0\n0,1,1\n", "line 3: time_s does not rise"),
        ("time_s,power_w,marker\n0,1,3.3\n", "line 2: marker is neither 0 nor 1"),
        ("time_s,power_w,marker\n0,one,0\n", "line 2: not a row of numbers"),
        ("time_s,power_w,marker\n0,1,0\n1,1\n", "line 3: not a row of numbers"),
    ],
)
def test_what_is_wrong_with_a_file_is_told(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        read_trace(written(tmp_path, text))
    assert caught.value.hint


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        read_trace(tmp_path / "none.csv")
    (tmp_path / "trace.csv").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(UsageError, match="is not text"):
        read_trace(tmp_path / "trace.csv")


rows = st.lists(st.text("0123456789.,-einfa \n\r#\"'x", max_size=12), max_size=12).map("\n".join)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(rows)
def test_any_text_gives_a_trace_or_an_error_of_ours(tmp_path: Path, text: str) -> None:
    try:
        trace = read_trace(written(tmp_path, "time_s,power_w,marker\n" + text))
    except UsageError:
        return
    assert np.all(np.diff(trace.time_s) > 0)
    assert np.all(np.isfinite(trace.power_w))
