"""Options of `snap alarm`."""

import re
from dataclasses import dataclass
from typing import ClassVar

from snapcli.config.option import StageOptions, option
from snapcli.errors import ConfigError

AUTO_DETECTOR, NO_DETECTOR = "auto", "none"
SUMS = ("betting", "cusum")  # of all evidence since it was last against an alarm
DETECTORS = (*SUMS, "ewma", "window")
SIGNALS = ("U", "F", "S", "abstain")
_SECONDS = {"minute": 60, "hour": 3600, "day": 86400, "week": 7 * 86400, "month": 30 * 86400}
_RATE = re.compile(r"(\d+(?:\.\d+)?) ?(?:Hz|fps)", re.IGNORECASE)
_PROMISE = re.compile(r"(\d+) (?:alarms? )?(?:per|in) (\d*) ?([a-z]+?)s?", re.IGNORECASE)
_FRAMES_LIMITS = (20.0, 1e11)


@dataclass(frozen=True)
class AlarmOptions(StageOptions):
    stage: ClassVar[str] = "alarm"

    detector: str = option(
        AUTO_DETECTOR,
        "How evidence adds up; betting keeps its bound with few clean examples, auto takes, of "
        "those that find dev shifts soon, the one that tells events best, none leaves the alarm "
        "out of a recipe:",
        one_of=(AUTO_DETECTOR, NO_DETECTOR, *DETECTORS),
    )
    on: str = option("U", "What of a frame is watched:", one_of=SIGNALS)
    false_alarms: str = option(
        "1 per 10000 frames",
        "How often the alarm may sound without a cause: N per M frames, or N per minute, hour, "
        "day, week or month, with --rate.",
    )
    rate: str = option("", "Frames in a second, such as 4Hz.", shown="not known")
    baseline: int = option(
        512,
        "Frames after a start that tell a device how its own clean frames look; 0: dev data do.",
        limits=(0, 65535),
    )

    def check_together(self) -> None:
        frames = self.frames
        low, high = _FRAMES_LIMITS
        if not low <= frames <= high:
            raise ConfigError(
                f"alarm.false_alarms is '{self.false_alarms}', one per {frames:g} frames",
                f"It must be one per {low:g} to {high:g} frames.",
            )

    @property
    def frames_per_second(self) -> float | None:
        """None where nobody said."""
        if not self.rate:
            return None
        found = _RATE.fullmatch(self.rate.strip())
        if not found or not float(found[1]):
            raise ConfigError(f"alarm.rate is '{self.rate}'", "Write it as 4Hz, or 0.5Hz.")
        return float(found[1])

    @property
    def frames(self) -> float:
        """Between two false alarms."""
        rate = self.frames_per_second
        found = _PROMISE.fullmatch(self.false_alarms.strip())
        unit = found[3].lower() if found else ""
        if not found or not int(found[1]) or found[2] == "0" or unit not in {*_SECONDS, "frame"}:
            raise ConfigError(
                f"alarm.false_alarms is '{self.false_alarms}'",
                "Write it as '1 per 10000 frames', or as '1 per day' with --rate 4Hz.",
            )
        alarms, every = int(found[1]), float(found[2] or 1)
        if unit == "frame":
            return every / alarms
        if rate is None:
            raise ConfigError(
                f"alarm.false_alarms is '{self.false_alarms}', and nobody knows how many frames "
                "that is",
                "Say how many come in a second: --rate 4Hz.",
            )
        return every * _SECONDS[unit] * rate / alarms
