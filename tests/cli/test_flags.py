"""Flags come from the options: each is there, says its default, and hands over what was typed."""

import re
from dataclasses import Field, dataclass, fields
from pathlib import Path
from typing import Annotated, Any, ClassVar

import pytest
import typer

from snapcli.cli.flags import Given, takes
from snapcli.cli.reference import CLASSES, page
from snapcli.config.option import (
    StageOptions,
    default_text,
    flag_of,
    option,
    option_of,
    value_type,
)
from snapcli.errors import UsageError
from tests.conftest import snap

REFERENCE = Path(__file__).parents[2] / "docs" / "options.md"
OPTIONS = [
    pytest.param(options, f, id=f"{options.stage}.{f.name}")
    for options in CLASSES
    for f in fields(options)
]


@dataclass(frozen=True)
class Options(StageOptions):
    stage: ClassVar[str] = "tea"

    cups: int = option(1, "How many.", limits=(1, 9))
    heat: float = option(0.5, "How hot.")
    leaf: str = option("green", "Which:", one_of=("green", "black"))
    sugar: bool = option(False, "Sweet.")
    milk: bool = option(True, "White.", flag="--milk/--black")
    steep: float = option(0.0, "Share of the time.", switch=0.2)
    guests: tuple[str, ...] = option((), "Who comes.")
    spoons: tuple[int, ...] = option((), "For each.")
    pots: tuple[str, ...] = option((), "Again for another.", flag="--pot", repeated=True)
    shelf: str = option("", "Where the tea is.", folder=True)
    price: float = option(2.0, "In recipes only.", flag=None)
    maker: str = option("me", "Who makes it.")


def typed(*arguments: str) -> tuple[Given, str]:
    """What a command is given for them, and its own parameter."""
    calls: list[tuple[Given, str]] = []
    app = typer.Typer()

    @app.command()
    @takes(Options)
    def tea(given: Given, maker: Annotated[str, typer.Option()] = "nobody") -> None:
        calls.append((given, maker))

    app(list(arguments), standalone_mode=False)
    (call,) = calls
    return call


def test_what_is_not_typed_is_not_given() -> None:
    assert typed() == ({}, "nobody")


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        (["--cups", "0"], {"cups": 0}),  # the stage's own check refuses it
        (["--heat", "1"], {"heat": 1.0}),
        (["--leaf", ""], {"leaf": ""}),
        (["--sugar"], {"sugar": True}),
        (["--milk"], {"milk": True}),
        (["--black"], {"milk": False}),
        (["--steep"], {"steep": 0.2}),
        (["--guests", "ann, bob,"], {"guests": ("ann", "bob")}),
        (["--guests", ","], {"guests": ()}),
        (["--spoons", "1,2"], {"spoons": (1, 2)}),
        (["--pot", "a", "--pot", "b,c"], {"pots": ("a", "b,c")}),
        (["--leaf", "black", "--cups", "2"], {"cups": 2, "leaf": "black"}),
    ],
)
def test_what_is_typed_is_given(arguments: list[str], given: dict[str, Any]) -> None:
    found, _ = typed(*arguments)
    assert found == given
    # In the order of the fields, which is how a refusal names the first of them.
    assert list(found) == list(given)


def test_a_folder_has_to_exist_and_is_given_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tin").mkdir()
    (tmp_path / "file").touch()
    monkeypatch.chdir(tmp_path)
    assert typed("--shelf", "tin")[0] == {"shelf": str(tmp_path / "tin")}
    for wrong in ("nowhere", "file"):
        with pytest.raises(typer.TyperException, match=wrong):
            typed("--shelf", wrong)


def test_a_parameter_of_the_command_takes_the_place_of_a_flag() -> None:
    assert typed("--maker", "you") == ({}, "you")


@pytest.mark.parametrize("wrong", [["--price", "3"], ["--no-sugar"], ["--pots", "a"]])
def test_there_are_no_other_flags(wrong: list[str]) -> None:
    with pytest.raises(typer.TyperException, match="No such option"):
        typed(*wrong)


def test_whole_numbers_have_a_form() -> None:
    with pytest.raises(UsageError, match="cannot read --spoons 1,x"):
        typed("--spoons", "1,x")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cups", "1"),
        ("heat", "0.5"),
        ("leaf", "green"),
        ("sugar", ""),
        ("milk", "milk"),
        ("guests", ""),
        ("shelf", ""),
    ],
)
def test_a_default_as_people_read_it(name: str, text: str) -> None:
    (f,) = (f for f in fields(Options) if f.name == name)
    assert default_text(f) == text


# ---- Every option of every command -------------------------------------------


@pytest.mark.parametrize(("options", "f"), OPTIONS)
def test_help_has_the_flag_its_words_and_its_default(
    options: type[StageOptions], f: "Field[Any]"
) -> None:
    told, text = option_of(f), " ".join(snap(options.stage, "--help").out.split())
    # Lines also break behind hyphens.
    text = text.replace("- ", "-")
    flags = set(re.findall(r"--[a-z-]+", text))
    if told.flag is None:
        assert flag_of(f) not in flags
        return
    if flag_of(f).startswith("--"):
        assert set(flag_of(f).split("/")) <= flags
    assert told.text.replace("- ", "-") in text
    default = default_text(f)
    if default == "required":
        assert f"{told.text.replace('- ', '-')} [required]" in text
    elif default:
        assert f"[default: {default}]" in text


@pytest.mark.parametrize(("options", "f"), OPTIONS)
def test_nobody_has_to_guess(options: type[StageOptions], f: "Field[Any]") -> None:
    """Every choice is named in the help; what is not a switch says what it is without the flag."""
    told = option_of(f)
    assert told.text.endswith(".")
    assert [choice for choice in told.one_of if choice not in told.text] == []
    assert default_text(f) or value_type(f) is bool or told.flag is None


def test_the_reference_page_is_up_to_date() -> None:
    assert page() == REFERENCE.read_text("utf-8"), (
        "write it anew: python -m snapcli.cli.reference > docs/options.md"
    )


# ---- Groups -------------------------------------------------------------------

GROUPS = {
    "train": ("Data", "Network", "Heads", "Loss of the heads", "Training"),
    "attach": ("Arguments", "Data", "Heads", "Decision"),
    "calibrate": ("Score and map", "Threshold", "Controller", "Push to a board"),
    "bench": ("Timing", "Power", "Evaluation stream"),
}


@pytest.mark.parametrize("command", GROUPS)
def test_options_stand_under_headings_and_in_one_column(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out = snap(command, "--help").out.partition("Examples:")[0]
    assert all(len(line) <= 80 for line in out.splitlines())
    headings = re.findall(r"^([A-Z].*):$", out, re.MULTILINE)
    assert tuple(headings) == (*GROUPS[command], "Other options")
    starts = {m.end() for m in re.finditer(r"^  (?:--|model)\S*(?: \S+)*  +", out, re.MULTILINE)}
    columns = {start - out.rfind("\n", 0, start) for start in starts}
    assert len(columns) == 1


def test_a_command_without_groups_has_plain_options() -> None:
    headings = re.findall(r"^([A-Z].*):$", snap("verify", "--help").out, re.MULTILINE)
    assert headings == ["Options"]
