"""alarm: what the device would answer to dev data -> an alarm for accuracy that drops, judged.

Fitted to dev data alone; test data say what it then does.
"""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from snapcli.config import AUTO_DETECTOR, NO_DETECTOR, AlarmOptions
from snapcli.errors import CheckError, UsageError
from snapcli.judging.alarm_timeline import timeline_of
from snapcli.judging.alarms import (
    WATCHED,
    Asked,
    accuracy_estimate,
    clean_alarms,
    fault_of,
    first_of,
    found,
    judge_scenes,
    judge_streams,
    try_detectors,
)
from snapcli.judging.clean_stream import clean_values
from snapcli.judging.field_stream import field_streams, paper_streams
from snapcli.judging.shifts import HARMFUL, PLAIN, SplitFrames, split_frames
from snapcli.monitor.alarm import ALARM_FILE, FieldAlarm, alarm_to_dict
from snapcli.origin.origin import origin_of
from snapcli.pricing.alarm import STATE_BYTES, instructions_or_none
from snapcli.progress import OnProgress, silent
from snapcli.results.alarm import REPORT_FILE, SCHEMA, AlarmReport, Silence, Tried
from snapcli.runs import Run, write_json
from snapcli.score.alarm import BLOCK_MOST, block_of
from snapcli.targets import load_target

_STEPS = ("dev data", "detectors", "shifts", "clean frames", "streams", "scenes", "cost")
_MORE = "Give more clean dev data or a longer --baseline, or take --detector cusum."


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
    block = 1 if seen is None else _block(seen, dev, signal)
    asked = Asked(options.frames, block, options.baseline)
    step()
    tried: tuple[Tried, ...] = ()
    detector, reason = options.detector, "Asked for."
    if detector == AUTO_DETECTOR:
        tried = try_detectors(dev, signal, asked)
        detector, reason = first_of(tried).detector, _reason(first_of(tried))
    fitted = asked.fit(detector, dev.scores(signal))
    if fitted.growth <= 0:
        raise CheckError(str(fault_of(fitted, asked.frames, len(dev.clean))), _MORE)
    step()
    groups, shifts = found(fitted.device, test, signal)
    step()
    alarms, frames, on = clean_alarms(fitted.device, test, signal)
    plain = asked.fit(detector, dev.scores(PLAIN)).device
    step()
    streams = {
        split: field_streams(data, options.baseline, seed=0) for split, data in splits.items()
    }
    judged = {
        split: judge_streams(fitted.device, plain, streams[split], data, signal)
        for split, data in splits.items()
    }
    as_printed = paper_streams(test, options.baseline, seed=0)
    step()
    scenes = judge_scenes(fitted, plain, asked, splits, signal)
    step()
    is_probability = origin.dataset().labelled
    report = AlarmReport(
        schema=SCHEMA,
        run=run.name,
        detector=detector,
        signal=signal,
        reason=f"{reason} {_fitted_to(dev)}",
        threshold=fitted.threshold,
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
            test_on=on,
            clean_examples=len(dev.clean),
            blind=fitted.blind,
        ),
        enough=fault_of(fitted, options.frames, len(dev.clean)),
        watched=WATCHED,
        groups=groups,
        shifts=shifts,
        dev_stream=judged["dev"],
        test_stream=judged["test"],
        paper_stream=judge_streams(fitted.device, plain, as_printed, test, signal),
        timeline=timeline_of(fitted.device, streams["test"], test, signal),
        scenes=scenes,
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
        f"On dev streams it found {100 * best.found:.0f} % of the harmful shifts of types it had "
        f"not seen, half of them within {best.median:.0f} frames, and its AUPRC of events was "
        f"{best.auprc:.3f}."
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


def _block(seen: NDArray[np.uint32], dev: SplitFrames, signal: str) -> int:
    block = block_of(seen, dev.clean.values(signal))
    if block == len(seen):
        raise CheckError(
            "the frames of the clean stream are all alike, and do not tell how others depend on "
            "each other",
            "Record a device that sees something change.",
        )
    if block > BLOCK_MOST:
        raise CheckError(
            f"of the frames of the clean stream {block} in a row tell as much as one",
            f"Give the alarm every {-(-block // BLOCK_MOST)}th frame, and a stream of these.",
        )
    return block
