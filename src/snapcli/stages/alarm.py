"""alarm: what the device would answer to dev data -> an alarm for accuracy that drops, judged.

Fitted to dev data alone; test data say what it then does.
"""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from snapcli.config import AUTO_DETECTOR, NO_DETECTOR, AlarmOptions
from snapcli.errors import CheckError, UsageError
from snapcli.judging.alarms import (
    WATCHED,
    Asked,
    accuracy_estimate,
    clean_alarms,
    first_of,
    found,
    judge_streams,
    try_detectors,
)
from snapcli.judging.clean_stream import clean_values
from snapcli.judging.field_stream import field_streams
from snapcli.judging.shifts import HARMFUL, PLAIN, SplitFrames, split_frames
from snapcli.monitor.alarm import ALARM_FILE, FieldAlarm, alarm_to_dict
from snapcli.origin.origin import origin_of
from snapcli.pricing.alarm import STATE_BYTES, instructions_or_none
from snapcli.progress import OnProgress, silent
from snapcli.results.alarm import REPORT_FILE, AlarmReport, Silence, Tried
from snapcli.runs import Run, write_json
from snapcli.score.alarm import BETTING, ONE_Q16, FittedAlarm, block_of
from snapcli.targets import load_target

_STEPS = ("dev data", "detectors", "shifts", "clean frames", "dev stream", "test stream", "cost")
# Of the frames asked for: with fewer between false alarms that the data make sure of, they cannot
# bear the promise out.
_BORNE_OUT = 0.1


def alarm(
    run: Run,
    options: AlarmOptions,
    clean_stream: Path | None = None,
    on_progress: OnProgress = silent,
) -> AlarmReport:
    """clean_stream: of the user's own clean frames, as judging.clean_stream reads it."""
    if options.detector == NO_DETECTOR:
        raise UsageError("the detector none is for recipes", "Leave --detector out, or name one.")
    step = _stepper(on_progress)
    step()
    origin = origin_of(run)
    deployed = origin.deployed()
    if not origin.dataset().corruptions:
        raise UsageError(
            f"the data of {run.name} have no corruptions that an alarm could be fitted to",
            "Attach with --augment-dev.",
        )
    splits = split_frames(run)
    dev, test, signal = splits["dev"], splits["test"], options.on
    seen = clean_values(clean_stream, deployed.monitor, signal) if clean_stream else None
    block = 1 if seen is None else block_of(seen, dev.clean.values(signal))
    asked = Asked(options.frames, block, options.baseline)
    step()
    tried: tuple[Tried, ...] = ()
    detector, reason = options.detector, "Asked for."
    if detector == AUTO_DETECTOR:
        tried = try_detectors(dev, signal, asked)
        detector, reason = first_of(tried).detector, _reason(first_of(tried))
    fitted = asked.fit(detector, dev.scores(signal))
    _check_growth(fitted, dev)
    step()
    groups, shifts = found(fitted.device, test, signal)
    step()
    alarms, frames = clean_alarms(fitted.device, test, signal)
    plain = asked.fit(detector, dev.scores(PLAIN)).device
    streams = {
        split: field_streams(data, options.baseline, seed=0) for split, data in splits.items()
    }
    judged = {}
    for split, data in splits.items():
        step()
        judged[split] = judge_streams(fitted.device, plain, streams[split], data, signal)
    step()
    is_probability = origin.dataset().labelled
    report = AlarmReport(
        run=run.name,
        detector=detector,
        signal=signal,
        reason=f"{reason} {_fitted_to(dev)}",
        threshold=fitted.device.threshold_q16 / ONE_Q16,
        baseline=options.baseline,
        block=block,
        clean_stream_frames=0 if seen is None else len(seen),
        frames_per_second=options.frames_per_second,
        silence=Silence(
            asked=options.frames,
            expected=fitted.expected,
            at_least=fitted.at_least,
            on_test=frames / alarms if alarms else float("nan"),
            test_frames=frames,
            test_alarms=alarms,
            clean_examples=len(dev.clean),
        ),
        enough=_missing(fitted, options.frames, len(dev.clean)),
        watched=WATCHED,
        groups=groups,
        shifts=shifts,
        dev_stream=judged["dev"],
        test_stream=judged["test"],
        accuracy=accuracy_estimate(streams["dev"], streams["test"], test)
        if is_probability
        else None,
        tried=tried,
        state_bytes=STATE_BYTES,
        instructions=instructions_or_none(
            fitted.device, test.clean.values(signal), load_target(origin.recipe.export_c.target)
        ),
    )
    step()
    with run.write("alarm", after=deployed.stages) as out:
        write_json(
            out / ALARM_FILE,
            {
                "options": asdict(options),
                "device": alarm_to_dict(FieldAlarm(signal, fitted.device)),
            },
        )
        write_json(out / REPORT_FILE, asdict(report))
    return report


def _stepper(on_progress: OnProgress) -> Callable[[], None]:
    steps = iter([*_STEPS, ""])
    done = iter(range(len(_STEPS) + 1))
    return lambda: on_progress(next(done), len(_STEPS), next(steps))


def _reason(best: Tried) -> str:
    return (
        f"On dev streams of corruption types it had not seen {best.detector} was first: "
        f"{best.delay:.0f} frames on average."
    )


def _fitted_to(dev: SplitFrames) -> str:
    harmful = dev.harmful
    least = min(shift.drop for shift in harmful)
    if least >= HARMFUL:
        return f"Fitted to {len(harmful)} dev shifts that cost {100 * HARMFUL:.0f} points or more."
    return (
        f"No dev shift costs {100 * HARMFUL:.0f} points, so it was fitted to the {len(harmful)} "
        f"that cost most, from {100 * least:.1f} points."
    )


def _check_growth(fitted: FittedAlarm, dev: SplitFrames) -> None:
    if fitted.growth <= 0:
        raise CheckError(
            f"not enough data for this promise: with {len(dev.clean)} clean dev examples the "
            f"detector {fitted.detector} would not sound in harmful shifts either",
            "Give more clean dev data, a longer --baseline, or take --detector cusum.",
        )


def _missing(fitted: FittedAlarm, asked: float, examples: int) -> str | None:
    """Betting needs no more: its bound is made of what the data leave open."""
    if fitted.detector == BETTING or fitted.at_least >= _BORNE_OUT * asked:
        return None
    return (
        f"Not enough data for this promise: {examples:,} clean dev examples make sure of "
        f"{fitted.at_least:,.0f} frames between false alarms, and {asked:,.0f} were asked for. "
        "The detector betting keeps its bound with few examples."
    )
