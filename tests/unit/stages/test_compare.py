"""Two runs beside each other: directions, intervals, gates."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapcli.errors import ArtifactError, CheckError, UsageError
from snapcli.runs import Run, create_run, open_run, write_json
from snapcli.stages.compare import (
    BETTER,
    HIGHER,
    LOWER,
    MISSING,
    SAME,
    WORSE,
    Change,
    Figure,
    changes_between,
    check,
    compare,
    figures_of,
    parse_gate,
)
from tests.conftest import snap

from ..report.example import example

pytestmark = pytest.mark.slow

values = st.floats(0.1, 1e6)


def change(a: float, b: float, better: str = LOWER, name: str = "flash/x") -> Change:
    (found,) = changes_between([Figure(name, a, better)], [Figure(name, b, better)])
    return found


# ---- Changes ----------------------------------------------------------------


@given(values, values, st.sampled_from([HIGHER, LOWER]))
def test_the_direction_decides(a: float, b: float, better: str) -> None:
    grew, wants_more = b > a, better == HIGHER
    expected = SAME if a == b else BETTER if grew == wants_more else WORSE
    assert change(a, b, better).verdict == expected
    assert change(a, b, better).percent == pytest.approx(100 * (b - a) / a)


def test_beyond_the_intervals() -> None:
    def beyond(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool | None:
        (found,) = changes_between([Figure("f", *a)], [Figure("f", *b)])
        return found.beyond

    assert beyond((0.8, HIGHER, 0.7, 0.85), (0.9, HIGHER, 0.86, 0.95)) is True
    assert beyond((0.8, HIGHER, 0.7, 0.87), (0.9, HIGHER, 0.86, 0.95)) is False
    assert beyond((0.9, HIGHER, 0.86, 0.95), (0.8, HIGHER, 0.7, 0.85)) is True
    assert beyond((0.8, HIGHER), (0.9, HIGHER, 0.86, 0.95)) is None


def test_what_only_one_has() -> None:
    first, second = changes_between([Figure("a", 1, LOWER)], [Figure("b", 2, HIGHER)])
    assert (first.name, first.b, first.verdict) == ("a", None, MISSING)
    assert (second.name, second.a, second.change) == ("b", None, None)


# ---- Gates ------------------------------------------------------------------


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Run]:
    folder = tmp_path_factory.mktemp("runs")
    return create_run(folder, "old"), create_run(folder, "new")


@given(
    a=values,
    b=values,
    amount=st.floats(0, 50),
    sign=st.sampled_from([1, -1]),
    side=st.sampled_from("<>"),
)
def test_a_gate_is_about_the_change(
    runs: tuple[Run, Run], a: float, b: float, amount: float, sign: int, side: str
) -> None:
    said = f"{'+' if sign > 0 else '-'}{amount:.4f}"
    limit = sign * float(f"{amount:.4f}")
    found = change(a, b)

    def fails(value: float) -> bool:
        return value > limit if side == ">" else value < limit

    assert bool(check(parse_gate(f"flash{side}{said}"), [found], runs)) == fails(b - a)
    percent = 100 * (b - a) / abs(a)
    assert bool(check(parse_gate(f"flash{side}{said}%"), [found], runs)) == fails(percent)


def test_from_nothing_to_something_is_beyond_any_share(runs: tuple[Run, Run]) -> None:
    gate = parse_gate("ram > +500 %")
    assert check(gate, [change(0, 1, name="ram")], runs)
    assert not check(gate, [change(0, 0, name="ram")], runs)


def test_a_gate_on_a_family_is_one_on_each(runs: tuple[Run, Run]) -> None:
    changes = [change(1, 2, name="flash/a"), change(1, 1, name="flash/b"), change(1, 9, name="fla")]
    assert [b.figure for b in check(parse_gate("flash>+0"), changes, runs)] == ["flash/a"]
    assert not check(parse_gate("flash/b>+0"), changes, runs)


@pytest.mark.parametrize(
    "text", ["flash", "flash>2%", "flash=+2%", ">+2", "flash>+x", "flash>+2%%"]
)
def test_what_is_no_gate(text: str) -> None:
    with pytest.raises(UsageError, match="is not a gate") as raised:
        parse_gate(text)
    assert "flash>+2%" in str(raised.value.hint)


def test_a_gate_on_what_nobody_has(runs: tuple[Run, Run]) -> None:
    with pytest.raises(UsageError, match="no figure 'flsh'") as raised:
        check(parse_gate("flsh>+1"), [change(1, 1)], runs)
    assert raised.value.hint == "Did you mean flash?"


def test_a_figure_that_was_left_out_may_be_meant(runs: tuple[Run, Run]) -> None:
    with pytest.raises(ArtifactError, match="'accuracy<-0' cannot be checked") as raised:
        check(parse_gate("accuracy<-0"), [change(1, 1)], runs, ["eval is stale."])
    assert raised.value.hint == "eval is stale."


@pytest.mark.parametrize(("a", "b", "lacking"), [((), (1,), 0), ((1,), (), 1)])
@pytest.mark.parametrize(("name", "stage"), [("stack/x", "bench/x"), ("accuracy/int8", "eval")])
def test_a_gate_on_what_one_lacks_is_no_pass(
    runs: tuple[Run, Run],
    a: tuple[int, ...],
    b: tuple[int, ...],
    lacking: int,
    name: str,
    stage: str,
) -> None:
    sides = ([Figure(name, v, LOWER, stage=stage) for v in run] for run in (a, b))
    with pytest.raises(ArtifactError, match=f"{name} is missing in {runs[lacking].name}") as raised:
        check(parse_gate(f"{name}>+2%"), changes_between(*sides), runs)
    # Nothing was made in it yet.
    assert raised.value.hint == f"Run: {runs[lacking].remedy('train')}"


def test_the_source_that_an_eval_lacks(tmp_path: Path) -> None:
    first, second = made(tmp_path), made(tmp_path)
    with first.write("eval", ()) as out:
        write_json(out / "eval.json", asdict(example(["int8", "device"])))
    for stage in ("train", "calibrate"):
        with second.write(stage, ()) as out:
            write_json(out / "made.json", {})
    with pytest.raises(ArtifactError, match="accuracy/device is missing") as raised:
        compare(first, second, ["accuracy/device<-0"])
    assert raised.value.hint == f"Run: {second.remedy('eval')} --on device"


def test_a_family_is_checked_where_both_have_it(runs: tuple[Run, Run]) -> None:
    both, alone = Figure("flash/x", 1, LOWER), Figure("flash/y", 1, LOWER)
    changes = changes_between([both, alone], [replace(both, value=2)])
    assert [b.figure for b in check(parse_gate("flash>+0"), changes, runs)] == ["flash/x"]


# ---- Runs -------------------------------------------------------------------


def made(folder: Path, flash: int = 1000, seed: int = 0, **conditions: Any) -> Run:
    """conditions: fields of eval.json that are otherwise."""
    run = create_run(folder, "digits")
    with run.write("flash/tiny", ()) as out:
        write_json(out / "size.json", {"size": {"flash_bytes": flash, "ram_bytes": 10}})
    with run.write("eval", ()) as out:
        write_json(out / "eval.json", asdict(example(["int8"], seed)) | conditions)
    return run


def test_figures_of_a_run(tmp_path: Path) -> None:
    run = made(tmp_path)
    found = {f.name: f for f in figures_of(run)}
    assert found["flash/tiny"] == Figure("flash/tiny", 1000, LOWER, stage="flash/tiny")
    snap_figures = next(m for m in example(["int8"]).sources["int8"].methods if m.name == "snap")
    assert snap_figures.errors is not None
    pooled = snap_figures.errors.pooled.auroc
    auroc = found["errors-auroc/int8/pooled"]
    assert (auroc.value, auroc.low, auroc.high) == (pooled.value, pooled.low, pooled.high)
    assert auroc.better == HIGHER
    lower = [name for name, figure in found.items() if figure.better == LOWER]
    assert {name.split("/")[0] for name in lower} >= {"risk-90", "posterior-nll", "u-ece", "flash"}
    # What was edited is not compared.
    run.path("build/tiny/size.json").write_text("{}")
    assert "flash/tiny" not in {f.name for f in figures_of(Run(run.root))}


def test_the_same_run_twice_changes_nothing(tmp_path: Path) -> None:
    run = made(tmp_path)
    report = compare(run, run, ["flash>+0", "errors-auroc<-0"])
    assert {c.verdict for c in report.changes} == {SAME}
    assert report.broken == ()
    assert report.notes == ()


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("limit", 50, "--limit 1000 and 50"),
        ("replicates", 200, "--replicates 1000 and 200"),
        ("streams", 5, "--streams 1 and 5"),
        ("dataset", "letters", "data set digits and letters"),
    ],
)
def test_other_evals_are_not_compared(tmp_path: Path, field: str, value: Any, words: str) -> None:
    first, second = made(tmp_path), made(tmp_path, **{field: value})
    report = compare(first, second)
    assert report.notes == (f"The figures of eval are not compared: {words}.",)
    assert {c.name for c in report.changes} == {"flash/tiny", "ram/tiny"}
    names = (first.name, second.name, "--runs-dir", str(tmp_path))
    assert report.notes[0] in snap("compare", *names).out
    assert snap("compare", *names, "--json").json["notes"] == list(report.notes)


def test_what_is_not_up_to_date_is_named(tmp_path: Path) -> None:
    first, second = made(tmp_path), made(tmp_path)
    second.path("build/tiny/size.json").write_text("{}")
    first.path("eval/eval.json").unlink()
    stale, damaged = compare(first, second).notes
    assert stale.startswith(f"eval of {first.name} is left out: it is damaged")
    assert stale.endswith(f"Run: {first.remedy('eval')}")
    assert damaged.startswith(f"flash/tiny of {second.name} is left out: it is damaged")
    assert damaged.endswith(f"Run: {second.remedy('flash/tiny')}")


def test_the_summary_counts_what_both_have(tmp_path: Path) -> None:
    made(tmp_path)
    second = made(tmp_path, flash=1030)
    second.path("eval/eval.json").unlink()
    shown = snap("compare", "digits-001", "digits-002", "--runs-dir", str(tmp_path))
    assert "1 of 2 figures got worse" in shown.out


def test_a_narrow_terminal_breaks_no_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(tmp_path, flash=123_456)
    made(tmp_path, flash=234_567, seed=1)
    monkeypatch.setattr("snapcli.console._FILE_WIDTH", 80)
    lines = snap("compare", "digits-001", "digits-002", "--runs-dir", str(tmp_path)).out.split("\n")
    table = [line for line in lines if line.startswith("│")]
    names = {f.name for f in figures_of(open_run(Path("digits-001"), tmp_path))}
    # One line for each, which begins with its whole name.
    assert {line.split()[1] for line in table[1:]} == names
    assert max(map(len, lines)) <= 80
    (flash,) = (line for line in table if "flash/tiny" in line)
    assert flash.split()[3:6:2] == ["123,456", "234,567"]
    changes = [line.split("│")[4].split()[0] for line in table[1:]]
    assert "+111,100" in changes
    for said in changes:
        digits = said.lstrip("+-").replace(",", "").replace(".", "").strip("0").split("e")[0]
        assert len(digits) <= 4
    assert "~ within the intervals." in lines


def test_the_command(tmp_path: Path) -> None:
    made(tmp_path)
    made(tmp_path, flash=1030, seed=1)
    names = ("digits-001", "digits-002", "--runs-dir", str(tmp_path))
    shown = snap("compare", *names, "--fail-if", "flash>+5%")
    assert shown.code == 0
    (line,) = (line for line in shown.out.splitlines() if "flash/tiny" in line)
    assert "1,030" in line
    assert "+30 (+3.00 %)" in line
    assert "WORSE" in line
    assert "within the intervals" in shown.out
    gates = ("--fail-if", "flash>+2%", "--fail-if", "ram>+1", "--fail-if", "flash>+29")
    failed = snap("compare", *names, *gates, "--json")
    assert failed.code == CheckError.exit_code
    message, _ = failed.error()
    assert message.count("flash/tiny") == 2
    assert [b["gate"] for b in failed.json["broken"]] == ["flash>+2%", "flash>+29"]
