"""What came back over the link, as evidence: the stream that `snap bench --stream` played."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from snapcli.data.dataset import Dataset
from snapcli.data.evaluation import Key
from snapcli.data.streams import Segment, build_stream
from snapcli.judging.evidence import Evidence, StreamEvidence, joined, normal_run, taken
from snapcli.measuring.frame_log import LABEL, read_log
from snapcli.methods.method import FOREIGN, LOGITS, SURPRISAL, UNCERTAINTY, Batch
from snapcli.methods.shaped_features import LastLayer
from snapcli.monitor.decision import ONE_Q16
from snapcli.results.stream import stream_report
from snapcli.runs import Run
from snapcli.stored import check_sizes, check_values, reading


@dataclass(frozen=True)
class DeviceNetwork:
    """The link sends logits, surprisals, U and F alone."""

    own_head: str
    has_heads: bool = True
    taps: tuple[str, ...] = ()
    last: LastLayer | None = None
    heads: tuple[str, ...] = ()
    is_integer: ClassVar[bool] = True
    shows_activations: ClassVar[bool] = False


def played_stream(run: Run) -> str | None:
    """The stage of a test stream that is up to date, None if there is none."""
    for stage in sorted(name for name in run.records() if name.startswith("stream/")):
        if run.state(stage).status == "done" and stream_report(run, stage).split == "test":
            return stage
    return None


def _files(run: Run, stage: str) -> dict[str, Path]:
    record = run.record(stage)
    assert record is not None
    return {Path(name).suffix: run.path(name) for name in record["outputs"]}


def device_evidence(
    run: Run, stage: str, dataset: Dataset, logit_scale: float, integer: Evidence
) -> Evidence:
    """integer: of the integer reference, whose dev data the device would answer alike."""
    plan = build_stream(dataset, "test", stream_report(run, stage).seed)
    hint = f"Run: {run.remedy(stage)}"
    path = _files(run, stage)[".npz"]
    log = read_log(path, hint)
    shown = {name: integer.clean.outputs[name].shape[1] for name in (LOGITS, SURPRISAL)}
    with reading(path, hint):
        check_sizes(LOGITS, log["logits"], (None, shown[LOGITS]))
        check_sizes(SURPRISAL, log["surprisal_q16"], (None, shown[SURPRISAL]))
        check_values("frames", np.array(len(log["logits"])), 1, len(plan))
    frames = Batch(
        {
            LOGITS: log["logits"] * logit_scale,
            SURPRISAL: log["surprisal_q16"] / ONE_Q16,
            UNCERTAINTY: log["uncertainty_q16"] / ONE_Q16,
            FOREIGN: log["foreign_q16"] / ONE_Q16,
        },
        log[LABEL],
    )
    segments = [s for s in plan.segments if s.first < len(frames)]
    segments[-1] = replace(segments[-1], rows=segments[-1].rows[: len(frames) - segments[-1].first])
    parts = [taken(frames, np.arange(s.first, s.first + len(s))) for s in segments]
    conditions, rows = {}, {}
    for key in dict.fromkeys(_key(s) for s in segments):
        of_key = [i for i, s in enumerate(segments) if _key(s) == key]
        conditions[key] = joined([parts[i] for i in of_key])
        rows[key] = np.concatenate([segments[i].rows for i in of_key])
    dev = {key: batch for key, batch in integer.conditions.items() if key.split == "dev"}
    return Evidence(
        integer.train,
        dev | conditions,
        {key: integer.rows[key] for key in dev} | rows,
        integer.dev_streams,
        (StreamEvidence(tuple(segments), tuple(parts), normal_run(plan, integer.clean)),),
    )


def _key(segment: Segment) -> Key:
    split = "ood" if segment.kind == "foreign" else "test"
    return Key(split, segment.condition, segment.severity)
