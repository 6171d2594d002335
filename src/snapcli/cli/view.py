"""The picture that `snap monitor` shows of a device, as lines of styled text."""

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING

from snapcli.cli.blocks import bar, spark
from snapcli.cli.render import percent, plural
from snapcli.console import Line

if TYPE_CHECKING:
    from snapcli.stages.monitor import MonitorFrame, MonitorSession

_LABEL = 11
_NUMBER = 7
_RECENT = 100  # frames of the rate, where the device keeps none
_SPEED = 50  # frames
_ESTIMATED = 256  # frames, of the accuracy
_REFUSED = 4
_WIDEST = 120  # a longer bar says no more
_GOOD, _BAD, _DIM = "green", "bold red", "dim"


class View:
    """Takes frames, gives lines; keeps no more than it shows."""

    def __init__(self, watched: "MonitorSession") -> None:
        self._watched = watched
        self._last: deque[MonitorFrame] = deque(maxlen=max(_WIDEST, _RECENT, _SPEED))
        self._refused: deque[MonitorFrame] = deque(maxlen=_REFUSED)
        self._threshold = 0.0  # that the newest frame was judged by; its own comes behind it
        self._run_length = 0  # frames since the alarm last changed
        self.frames = 0
        self.abstained = 0
        self.foreign = 0

    def add(self, seen: "MonitorFrame") -> None:
        before = self._last[-1] if self._last else seen
        self._threshold = before.threshold_q24 / 2**24
        changed = (before.alarm, before.baseline_left > 0) != (seen.alarm, seen.baseline_left > 0)
        self._run_length = 1 if changed else self._run_length + 1
        self._last.append(seen)
        self.frames += 1
        self.foreign += seen.foreign
        if seen.abstain:
            self.abstained += 1
            self._refused.append(seen)

    @property
    def speed(self) -> float | None:
        """Frames in a second, lately."""
        recent = self._tail(_SPEED)
        passed = recent[-1].time_s - recent[0].time_s if recent else 0.0
        return (len(recent) - 1) / passed if passed > 0 else None

    def rate(self) -> float:
        """Share of abstentions: the device's running rate, or that of the last frames."""
        if self._watched.budget is not None:
            return self._last[-1].rate_q24 / 2**24
        recent = self._tail(_RECENT)
        return sum(seen.abstain for seen in recent) / len(recent)

    def plain(self) -> str:
        """One line, for where there is no terminal."""
        if not self._last:
            return "waiting for the first frame"
        seen = self._last[-1]
        return (
            f"frame {seen.frame + 1}/{self._watched.frames}  {_input(seen)}  "
            f"class {seen.class_name}  U {_u(seen):.4f}  threshold {self._threshold:.4f}  "
            f"{'ABSTAINS' if seen.abstain else 'accepts'}  "
            f"F {_f(seen):.4f}{'  FOREIGN' if seen.foreign else ''}  "
            f"{self._alarm(seen)}about {100 * seen.right_q24 / 2**24:.0f} % right  "
            f"rate {percent(self.rate())}{self._budget()}  {self._speed()}"
        )

    def lines(self, width: int) -> list[Line]:
        """As many lines whatever is shown, so that the picture stands still."""
        watched = self._watched
        width = min(width, _WIDEST)
        title = f"{watched.run} on {watched.target} ({watched.part})"
        if not self._last:
            return [[(title[:width], "bold")], [("waiting for the first frame", _DIM)]]
        seen = self._last[-1]
        room = max(width - _LABEL - _NUMBER, 8)
        lines: list[Line] = [
            [(title, "bold")],
            _row("frame", (f"{seen.frame + 1:,} of {watched.frames:,}   {self._speed()}", "")),
            _row("takes", (f"{seen.count:,} {watched.counter}", "")),
            _row("input", (_input(seen), "")),
            _row(
                "class",
                (seen.class_name, "bold"),
                ("   ABSTAINS", _BAD) if seen.abstain else ("   accepts", _GOOD),
                ("   FOREIGN", _BAD) if seen.foreign else ("", ""),
            ),
            _row(
                "U",
                (f"{_u(seen):<{_NUMBER}.4f}", ""),
                *_marked(_u(seen), self._threshold, room, _colour(seen.abstain)),
            ),
            _row("threshold", (f"{self._threshold:.4f}", "")),
            _row(
                "F",
                (f"{_f(seen):<{_NUMBER}.4f}", ""),
                *_marked(
                    _f(seen), watched.foreign_threshold_q16 / 2**16, room, _colour(seen.foreign)
                ),
            ),
            _row(f"last {min(room, self.frames)}", (" " * _NUMBER, ""), *self._sparks(room)),
            _row("abstains", *self._rate_bar(room)),
            _row("in all", (f"{self.abstained:,} of {self.frames:,}, {self._shares()}", "")),
        ]
        newest = list(reversed(self._refused))
        for i in range(_REFUSED):
            label = "refused" if i == 0 else ""
            lines.append(_row(label, (_told(newest[i]) if i < len(newest) else "", "")))
        if watched.alarm:
            lines += [self._lamp(), _row("statistic", *self._statistic(room))]
        lines.append(_row("accuracy", (self._accuracy(), "")))
        ends = "q ends, c clears the alarm, b learns what is normal" if watched.alarm else "q ends"
        lines.append([(ends, _DIM)])
        return [_cut(line, width) for line in lines]

    def _tail(self, count: int) -> "list[MonitorFrame]":
        return list(islice(self._last, max(len(self._last) - count, 0), None))

    def _sparks(self, room: int) -> Line:
        """Abstentions stand out."""
        return [(spark([_u(seen)]), _colour(seen.abstain)) for seen in self._tail(room)]

    def _rate_bar(self, room: int) -> Line:
        rate, budget = self.rate(), self._watched.budget
        if budget is None:
            recent = min(self.frames, _RECENT)
            return [(f"{percent(rate):<{_NUMBER}}", ""), (f"of the last {recent}, no budget", _DIM)]
        told = f" of {percent(budget)}"
        # Budgets are small: the scale ends at twice the budget, or where the rate is.
        scale = max(2 * budget, rate, 1e-9)
        style = _BAD if rate > budget else _GOOD
        drawn = _marked(rate / scale, budget / scale, room - len(told), style)
        return [(f"{percent(rate):<{_NUMBER}}", ""), *drawn, (told, "")]

    def _shares(self) -> str:
        foreign = percent(self.foreign / self.frames)
        return f"{percent(self.abstained / self.frames)}; foreign {foreign}"

    def alarms(self) -> str:
        """In words, with the comma before them; none without an alarm."""
        if not self._watched.alarm or not self._last:
            return ""
        return f", {plural(self._last[-1].alarms, 'alarm')}"

    def _state(self, seen: "MonitorFrame") -> str:
        """Of the alarm."""
        if seen.baseline_left:
            return f"learns what is normal, {plural(seen.baseline_left, 'frame')} to go"
        told = "ON" if seen.alarm else "quiet"
        return f"{told} for {plural(self._run_length, 'frame')}"

    def _alarm(self, seen: "MonitorFrame") -> str:
        return f"alarm {self._state(seen)}  " if self._watched.alarm else ""

    def _lamp(self) -> Line:
        seen = self._last[-1]
        style = _BAD if seen.alarm else _DIM if seen.baseline_left else _GOOD
        counted = (f"   {plural(seen.alarms, 'alarm')} so far", "")
        return _row("alarm", ("● ", style), (self._state(seen), style), counted)

    def _statistic(self, room: int) -> Line:
        """A column for each of the last frames, full at the threshold."""
        alarm = self._watched.alarm
        assert alarm is not None
        threshold = alarm.parameters.threshold_q16
        seen, low = self._last[-1], min(alarm.parameters.clear_q16, 0)
        span = max(threshold - low, 1)
        drawn = [
            (spark([(s.statistic_q16 - low) / span]), _colour(s.alarm)) for s in self._tail(room)
        ]
        return [(f"{seen.statistic_q16 / 2**16:<{_NUMBER}.1f}", ""), *drawn]

    def _accuracy(self) -> str:
        seen = self._last[-1]
        recent = min(self.frames, _ESTIMATED)
        told = "right, by its own estimate, over the last"
        return f"about {100 * seen.right_q24 / 2**24:.0f} % {told} {plural(recent, 'frame')}"

    def _budget(self) -> str:
        budget = self._watched.budget
        return "" if budget is None else f" of {percent(budget)}"

    def _speed(self) -> str:
        speed = self.speed
        return "" if speed is None else f"{speed:,.1f} frames/s"


def _row(label: str, *parts: tuple[str, str]) -> Line:
    return [(f"{label:<{_LABEL}}", _DIM), *parts]


def _marked(share: float, mark: float, width: int, style: str) -> Line:
    """A bar on dots, with a stroke where the mark is."""
    place = min(int(min(max(mark, 0.0), 1.0) * width), width - 1)
    filled = bar(share, width)
    dots = "·" * (width - len(filled))
    before = [(filled[:place], style), (dots[: max(place - len(filled), 0)], _DIM)]
    behind = [
        (filled[place + 1 :], style),
        (dots[max(place + 1 - len(filled), 0) :], _DIM),
    ]
    return [*before, ("┃", "bold"), *behind]


def _cut(line: Line, width: int) -> Line:
    """No longer than the terminal is wide: a line that breaks makes the picture jump."""
    cut, left = [], width
    for text, style in line:
        cut.append((text[:left], style))
        left -= len(text[:left])
    return cut


def _u(seen: "MonitorFrame") -> float:
    return seen.uncertainty_q16 / 2**16


def _f(seen: "MonitorFrame") -> float:
    return seen.foreign_q16 / 2**16


def _colour(is_refused: bool) -> str:
    return _BAD if is_refused else _GOOD


def _input(seen: "MonitorFrame") -> str:
    return f"{seen.condition}, severity {seen.severity}" if seen.severity else seen.condition


def _told(seen: "MonitorFrame") -> str:
    told = f"U {_u(seen):.4f}{', foreign' if seen.foreign else ''}, {_input(seen)}"
    return f"frame {seen.frame + 1:,}: class {seen.class_name}, {told}"
