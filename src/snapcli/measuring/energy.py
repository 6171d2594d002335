"""The energy of a bench: what a power trace says of its timed runs."""

import shlex
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from snapcli.errors import ArtifactError
from snapcli.metrics.power import FEWEST_SAMPLES, EnergyPerInference, energy, read_trace
from snapcli.results.bench import PROFILED, BenchReport, report_from
from snapcli.runs import Run
from snapcli.stored import read_json, reading
from snapcli.targets import Target

# Edges of the marker are seen half a sample off at worst, and software takes a little.
_TOLERANCE = 0.1


@dataclass(frozen=True)
class PowerTrace:
    """A file to read when the bench has ended; supply_voltage where it holds a current alone."""

    path: Path
    supply_voltage: float | None


def with_energy(run: Run, target: Target, trace: PowerTrace) -> BenchReport:
    """The newest bench of the target with what the trace says, as a bench of its own number."""
    stage = f"bench/{target.name}"
    record = run.record(stage)
    if record is None:
        raise ArtifactError(
            f"{run.name} has no bench of {target.name} that this trace could belong to",
            f"Record it while this runs: snap bench --port PORT --power-trace "
            f"{shlex.quote(str(trace.path))}",
        )
    state = run.state(stage)
    if state.status != "done":
        run.refuse(state)
    path = run.path(next(iter(record["outputs"])))
    with reading(path):
        timed = report_from(read_json(path, dict[str, Any]))
    measured = energy(read_trace(trace.path, trace.supply_voltage), timed.inputs)
    report = replace(timed, energy=measured, notes=tuple(energy_notes(timed, measured)))
    run.add_json(stage, tuple(record["inputs"]), asdict(report))
    return report


def energy_notes(timed: BenchReport, measured: EnergyPerInference) -> list[str]:
    """What is doubtful about a trace."""
    notes = []
    if measured.samples < FEWEST_SAMPLES:
        notes.append(
            f"only {measured.samples} samples in the shortest inference: the energy is rough; "
            f"sample faster, {FEWEST_SAMPLES} are wanted"
        )
    device = timed.timing_us.mean if timed.timing_us else None
    if device and abs(measured.window_us / device - 1) > _TOLERANCE:
        notes.append(
            f"an inference takes {measured.window_us:,.1f} us in the trace and {device:,.1f} us by "
            "the device's clock: is it the trace of this bench?"
        )
    made = timed.warmup + PROFILED + timed.inputs
    if measured.windows not in (timed.inputs, made):
        notes.append(
            f"the trace shows {measured.windows:,} inferences, the bench made {made:,}: its last "
            f"{timed.inputs:,} were taken"
        )
    return notes
