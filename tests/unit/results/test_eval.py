"""A report comes back from its file as it was."""

import json
import math
from dataclasses import asdict
from functools import partial

from snapcli.config import CalibrateOptions
from snapcli.jsontext import dumps
from snapcli.judging.cross_fit import CrossFitted
from snapcli.judging.judge import Judge, gains
from snapcli.methods.logits import FreeEnergy, MaxProbability
from snapcli.methods.snap import Snap
from snapcli.metrics.bootstrap import Interval
from snapcli.results.eval import (
    NOT_RUN,
    SCHEMA,
    EvalReport,
    MethodFigures,
    SourceFigures,
    StreamSegment,
    StreamView,
    report_from_dict,
)
from tests.unit.made_evidence import TAPS, made_evidence


def made_report() -> EvalReport:
    """Of every kind of field one that is filled, and some that are nan."""
    judge = Judge(made_evidence(), 20)
    reference, methods = None, []
    for make in (
        MaxProbability,
        FreeEnergy,
        partial(Snap, "snap-gated", CalibrateOptions(map="gated")),
    ):
        figures, samples = judge.figures(CrossFitted(make(), made_evidence()), "one", reference)
        reference = reference or samples
        methods.append(figures)
    methods.append(MethodFigures("qute", "trained", NOT_RUN, "not asked for"))
    assert gains(samples, reference) == methods[2].gains
    stream = StreamView(3, 0.5, ((0, 2),), (StreamSegment("clean", "clean", 0, 0, 3),))
    correlation = ((1.0, math.nan), (math.nan, 1.0))
    source = SourceFigures("int8", {"clean": 3}, {"1": 0.5}, TAPS, correlation, stream, (*methods,))
    other = SourceFigures("device", {}, {"clean": math.nan}, (), (), None, ())
    return EvalReport(
        SCHEMA, "digits-001", "digits", "dscnn", 13, 50, 20, 1, {"int8": source, "device": other}
    )


def test_json_gives_the_same_report() -> None:
    report = made_report()
    text = dumps(asdict(report))
    back = report_from_dict(json.loads(text))
    # As text: nan is not equal to itself.
    assert repr(back) == repr(report)
    assert dumps(asdict(back)) == text


def test_a_missing_figure_is_nan_and_not_none() -> None:
    back = report_from_dict(json.loads(dumps(asdict(made_report()))))
    method = back.sources["int8"].methods[0]
    assert method.events is not None
    assert isinstance(method.events.delay, Interval)
    assert math.isnan(method.events.delay.low)
    last = back.sources["int8"].methods[-1]
    assert (last.errors, last.events, last.uncertainty, last.tuning) == (None, None, None, None)
    assert math.isnan(last.accuracy)
    assert back.sources["device"].stream is None
