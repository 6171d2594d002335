"""What a run puts on a device, whichever way it came about."""

from dataclasses import dataclass, replace
from pathlib import Path

from snapcli.config import MAHALANOBIS
from snapcli.monitor.monitor import Monitor, load_monitor
from snapcli.runs import Run


@dataclass(frozen=True, eq=False)
class Deployed:
    """stages: those that the monitor comes from; folder: where its body lies."""

    monitor: Monitor
    stages: tuple[str, ...]
    folder: Path


def deployed(run: Run) -> Deployed:
    """The monitor that quantize left, or the body of attach with what calibrate decided."""
    if not run.is_attached:
        folder = run.inputs("quantize")
        hint = f"Run: {run.remedy('quantize')}"
        return Deployed(load_monitor(folder, hint=hint), ("quantize",), folder)
    folder, decision = run.inputs("attach"), run.inputs("calibrate")
    monitor = load_monitor(folder, decision, f"Run: {run.remedy('calibrate')}")
    if monitor.decision.third != MAHALANOBIS:
        # attach cannot know whether a map will read it.
        monitor = replace(monitor, body=replace(monitor.body, distance=None))
    return Deployed(monitor, ("attach", "calibrate"), folder)
