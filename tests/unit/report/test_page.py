"""The page is whole, says every figure, and needs nothing but itself."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from snapcli.jsontext import dumps
from snapcli.metrics.bootstrap import Interval
from snapcli.report.contents import (
    Arena,
    BufferPlace,
    Contents,
    DeviceStream,
    PlayedAlarm,
    StageRecord,
    ToolRecord,
)
from snapcli.report.page import page
from snapcli.results.ablate import AblateTable, Column
from snapcli.results.cost import SCHEMA, TOO_LARGE, CostReport, CostRow, TargetCost
from snapcli.results.eval import EvalReport, report_from_dict
from snapcli.results.stream import SegmentReport
from snapcli.results.taps import Candidate, TapsReport
from snapcli.score.selection import TapCost
from tests.unit.stages.made_stream import stream_report

from .example import METHODS, NOT_RUN, example
from .figures import figures, heads

VOID = {"meta", "link"}


class Tree(HTMLParser):
    """Fails where elements are not closed in order; keeps tables and ids."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.references: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("href", "src"):
                self.references.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def stored(report: EvalReport) -> Any:
    """As JSON has it."""
    return json.loads(dumps(report))


@pytest.fixture(scope="module")
def evaluation() -> EvalReport:
    """As it comes back from its file."""
    return report_from_dict(stored(example()))


@pytest.fixture(scope="module")
def contents(evaluation: EvalReport) -> Contents:
    arena = Arena("snap", 64, ("(input)", "conv", "(output)"), (BufferPlace("x", 64, 0, 0, 1),))
    segment = SegmentReport("clean", "clean", 0, 0, 4, abstained=1, foreign=0, alarmed=2)
    alarm = PlayedAlarm((0.5, 3.0), 2.0, (False, True))
    played = stream_report(
        4, part="a board", segments=(segment,), watched="F", alarms=1, first_alarm=2
    )
    row = CostRow("snap", "U", TOO_LARGE, "by 12 B", flash_bytes=4321, ram_bytes=10)
    target = TargetCost("tiny", "P", "qemu-m4", 1, 0, 0, 0, (row,))
    taps = TapsReport(
        run="run <1>",
        target="tiny",
        kernels="snap",
        candidates=(Candidate("only", "input", 8, 0.5, 0.7, TapCost(1, 2)),),
        correlation=[[1.0]],
        auprc_without=0.6,
        backbone_instructions=100,
        steps=(),
        recommended=("only",),
        overhead=0.1,
        picture="taps.svg",
    )
    ranks = AblateTable(
        "Ranks",
        (Column("rank"), Column("AUROC", "higher")),
        ({"rank": 0, "AUROC": 0.8}, {"rank": 8, "AUROC": Interval(0.9, 0.85, 0.95)}),
    )
    return Contents(
        run="run <1>",
        model="net",
        dataset="data",
        missing={"bench/x": "bench is stale. Run: snap bench"},
        evaluation=evaluation,
        cost=CostReport(SCHEMA, "run <1>", "snap", 1, (target,)),
        taps=taps,
        arenas={"tiny": arena},
        streams={"tiny": DeviceStream(played, (0.1, 0.2), (0.5, 0.5), (False, True), alarm)},
        ablations=[ranks],
        made=[
            StageRecord("train", "done", "snap run digits", 3, {"numpy": "2"}, {"a.npz": "abc123"}),
            replace(
                StageRecord(
                    "bench/x", "stale: x", "snap run digits", None, {"numpy": "1"}, {"b": "def456"}
                ),
                tools={"a-compiler": ToolRecord("12.2", ("-O2", "-O2 -g"))},
            ),
        ],
        recipe="[train]\nseed = 3",
        figures=figures(),
    )


@pytest.fixture(scope="module")
def text(contents: Contents) -> str:
    return page(contents)


def test_it_is_well_formed_and_stands_alone(text: str) -> None:
    tree = Tree(text)
    assert len(tree.ids) == len(set(tree.ids))
    assert all(r.startswith("#") or r == "data:," for r in tree.references)
    assert {r[1:] for r in tree.references if r.startswith("#")} <= set(tree.ids)
    assert not re.search(r"https?://|url\(|@import|\bfetch\(", text)
    assert len(text.encode()) < 1_500_000


def test_types_of_one_severity_are_on_no_scale(contents: Contents) -> None:
    """As eval stores them for the official files of MNIST-C: severity 0."""
    once = stored(example())
    for source in once["sources"].values():
        for method in source["methods"]:
            some = list(method["by_severity"].values())
            method["by_severity"] = {"0": some[0]} if some else {}
            for gains in ("gains", "snap_gains"):
                found = method[gains]
                method[gains] = {k.replace("severity.1.", "severity.0."): found[k] for k in found}
        for segment in source["stream"]["segments"]:
            segment["severity"] = 0
    text = page(replace(contents, evaluation=report_from_dict(once)))
    words = "\n".join(Tree(text).words)
    assert "against severity" not in text
    assert not re.search(r"severity,? [0-9]", words)
    assert "AUROC, each type in its one severity" in words
    assert "types of one severity" in words
    assert 'class="segment corrupted s-0"' in text


def test_every_method_and_its_reason(text: str) -> None:
    words = Tree(text).words
    for name in (*METHODS, *NOT_RUN):
        assert name in words
    for why in NOT_RUN.values():
        assert f"not run: {why}" in words


def test_every_figure_of_a_method_is_in_the_tables(text: str) -> None:
    """Each value and each end of its interval, of all but the gains by severity and type."""

    def figures(value: Any) -> list[dict[str, float]]:
        if isinstance(value, dict):
            if set(value) == {"value", "low", "high"}:
                return [value]
            return [f for key, v in value.items() if key != "gains" for f in figures(v)]
        return []

    methods = stored(example())["sources"]["int8"]["methods"]
    (snap,) = (m for m in methods if m["name"] == "snap")
    found = figures({key: v for key, v in snap.items() if key not in ("by_severity", "by_type")})
    assert len(found) > 30
    for figure in found:
        assert f'data-v="{figure["value"]:.5g}"' in text
        if figure["low"] is not None:
            assert f'data-i="{figure["low"]:.5g} {figure["high"]:.5g}"' in text


def test_differences_are_coloured_by_their_side_of_zero(text: str) -> None:
    cells = re.findall(r'data-i="(\S+) (\S+)" class="(\w+)"', text)
    assert {look for *_, look in cells} == {"wins", "ties", "loses"}
    for low, high, look in cells:
        assert (look == "wins") == (float(low) > 0)
        assert (look == "loses") == (float(high) < 0)
    assert "SNAP over every method" in text


def test_the_positive_class_stands_with_its_figures(text: str) -> None:
    for heading in ("Finding wrong answers", "Finding foreign inputs", "Accuracy-drop events"):
        before = text[: text.index(f"<h4>{heading}")]
        assert "Positive class: " in before[before.rindex("<h3>") :]
    for picture in ("AUPRC", "AUROC"):
        assert re.search(rf"<h3>{picture}</h3><p>Positive class: a wrong answer", text)


def test_everything_else_is_shown(text: str) -> None:
    words = "\n".join(Tree(text).words)
    for expected in (
        "run <1>",
        "does not fit: by 12 B",
        "4,321",
        "tiny: arena over time",
        *(
            "Played through tiny",
            "The alarm of tiny",
            "watches F and adds its evidence up: 1 alarm",
        ),
        "Recommended: only.",
        "Ranks",
        "0.850\N{EN DASH}0.950",
        "snap run digits  # train, bench/x",
        "2 (train); 1 (bench/x)",
        "abc123  a.npz",
        "bench/x: 1 file, stale: x",
        "bench is stale. Run: snap bench",
        "seed = 3",
    ):
        assert expected in words
    assert "<dt>a-compiler</dt><dd>12.2 (bench/x)<code>-O2</code><code>-O2 -g</code></dd>" in text


def test_one_source_is_seen(text: str) -> None:
    shown = re.findall(r'data-source="(\w+)"( hidden)?', text)
    assert {name for name, hidden in shown if not hidden} == {"int8"}
    assert {name for name, _ in shown} == {"float", "int8", "device"}


def test_pieces_that_are_not_there_are_left_out() -> None:
    bare = page(Contents("r", "m", "d", {"eval": "eval is not there yet. Run: snap eval"}))
    tree = Tree(bare)
    sections = [name for name in tree.ids if name not in ("theme", "tip")]
    assert sections == ["verdict", "missing", "made"]
    assert "eval is not there yet. Run: snap eval" in tree.words


@pytest.mark.parametrize(
    ("others", "title"),
    [(("entropy",), "The other method"), (("entropy", "energy"), "The other 2 methods")],
)
def test_the_methods_that_are_folded_away(
    evaluation: EvalReport, contents: Contents, others: tuple[str, ...], title: str
) -> None:
    source = evaluation.sources["int8"]
    kept = tuple(m for m in source.methods if m.name in ("snap", "max-probability", *others))
    few = replace(evaluation, sources={"int8": replace(source, methods=kept)})
    assert f"<summary>{title}</summary>" in page(replace(contents, evaluation=few))


def test_undefined_figures_are_dashes(contents: Contents) -> None:
    """What JSON holds as null: no method, table or picture stumbles over it or says nan."""

    def emptied(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: emptied(v) for k, v in value.items()}
        if isinstance(value, list):
            return [emptied(v) for v in value]
        return None if isinstance(value, float) else value

    values = stored(example())
    source = values["sources"]["float"]
    source["methods"] = emptied(source["methods"])
    values["sources"] = {"float": source}
    text = page(replace(contents, evaluation=report_from_dict(values)))
    Tree(text)
    assert not re.search(r"\bnan\b", text)


def section(text: str, name: str) -> str:
    (found,) = re.findall(rf'<section id="{name}">(.*?)</section>', text, re.S)
    return str(found)


def cells(markup: str) -> list[list[str]]:
    """Of the rows of a table."""
    rows = re.findall(r'<tr><th scope="row">(.*?)</tr>', markup)
    return [re.findall(r">([^<>]+)<", f">{row}") for row in rows]


def test_what_is_called_foreign(text: str) -> None:
    found = section(text, "foreign")
    assert "the surprise S (how unlikely activations are" in found
    assert "0.9876 on: so are 1.0\N{NO-BREAK SPACE}% of clean dev data." in found
    heading = re.findall(r'class="sort">(.*?)</button>', found)
    assert heading == ["inputs", "called foreign, %", "F", "U", "S", "max-probability"]
    assert cells(found) == [
        ["clean test data", "3.2", *4 * ["\N{EN DASH}"]],
        ["photos", "87.6", "0.990", "0.910", "0.950", "0.750"],
        ["letters", "54.3", "0.990", "0.910", "0.950", "0.750"],
    ]


def test_a_foreign_threshold_that_nothing_reaches(contents: Contents) -> None:
    some = figures()
    above = replace(some, foreign=replace(some.foreign, threshold=1.5))
    found = section(page(replace(contents, figures=above)), "foreign")
    assert "Its threshold is above 1: no input is called foreign." in found
    assert "1.5" not in found


def test_what_f_reads_without_heads(contents: Contents) -> None:
    bare = figures(heads(present=False))
    found = section(page(replace(contents, figures=bare)), "foreign")
    assert "the distance to the class that was answered" in found
    assert "surprise" not in found
    assert [len(row) for row in cells(found)] == 3 * [5]


def test_what_is_known_of_each_answer(text: str, contents: Contents) -> None:
    found = section(text, "answers")
    assert cells(found) == [
        ["yes", "25.0", "12.5", "0.25", "0.50", "0.810", "0.820", "0.830"],
        ["no &lt;0&gt;", "75.0", "37.5", "\N{MINUS SIGN}0.25", "0.00", "0.710", "0.720", "0.730"],
        ["any answer", "100.0", "31.2", *2 * ["\N{EN DASH}"], "0.760", "0.770", "0.780"],
    ]
    assert "as often in the field as in dev data" in found
    without = section(page(replace(contents, figures=figures(offsets=0.0))), "answers")
    assert "as often in the field" not in without
    assert "This run goes without offsets" in without


def test_a_map_that_is_not_told_the_answer(contents: Contents) -> None:
    text = page(replace(contents, figures=replace(figures(), answers=())))
    assert 'id="foreign"' in text
    assert 'id="answers"' not in text


def test_idle_heads_come_before_all_else(contents: Contents) -> None:
    command = "snap calibrate --run 'a<b' --taps none"
    idle = page(replace(contents, figures=figures(heads(idle=True)), without_heads=command))
    found = section(idle, "verdict")
    assert found.index("The heads are idle") < found.index("SNAP")
    assert found.index("Are the heads worth their cost?") < found.index("Does it fit?")
    code = "<code>snap calibrate --run &#x27;a&lt;b&#x27; --taps none</code>"
    assert found.count(code) == 2
    Tree(idle)
