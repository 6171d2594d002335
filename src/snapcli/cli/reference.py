"""The page docs/options.md, made from the options themselves.

python -m snapcli.cli.reference > docs/options.md
"""

from dataclasses import Field, fields
from typing import Any

from snapcli.config import (
    AblateOptions,
    AlarmOptions,
    AttachOptions,
    BenchOptions,
    CalibrateOptions,
    CostOptions,
    EvalOptions,
    ExportOptions,
    QuantizeOptions,
    Recipe,
    TapsOptions,
    TrainOptions,
    VerifyOptions,
)
from snapcli.config.option import StageOptions, default_text, flag_of, option_of, value_type

CLASSES: tuple[type[StageOptions], ...] = (
    *(TrainOptions, AttachOptions, CalibrateOptions, QuantizeOptions, ExportOptions, BenchOptions),
    *(AlarmOptions, EvalOptions, CostOptions, AblateOptions, TapsOptions, VerifyOptions),
)
_INTRODUCTION = """\
# Options

The options that shape the result of each command. Names in the column *recipe* are those of a
recipe (`pipelines/*.toml`, the `config.toml` of a run), in the table of the command, and those of
`--set`: `snap run digits --set train.epochs=5`. Where there is no such column, the command takes
flags only. For all else that a command takes (a port, `--json`, the run): `snap COMMAND --help`.

This page is generated: `python -m snapcli.cli.reference > docs/options.md`.
"""


def page() -> str:
    """The whole page, in Markdown."""
    in_recipe = {type(getattr(Recipe(), part.name)) for part in fields(Recipe)}
    sections = [_section(options, options in in_recipe) for options in CLASSES]
    return "\n".join([_INTRODUCTION, *sections])


def _section(options: type[StageOptions], in_recipe: bool) -> str:
    groups: dict[str, list[Field[Any]]] = {}
    for f in fields(options):
        groups.setdefault(option_of(f).group, []).append(f)
    lines = [f"## {options.stage}", ""]
    for group, members in groups.items():
        if group:
            lines += [f"### {group}", ""]
        columns = ["recipe"] * in_recipe + ["flag", "default", "range", "meaning"]
        rows = [columns, ["---"] * len(columns), *(_row(f, in_recipe) for f in members)]
        lines += [f"| {' | '.join(row)} |" for row in rows]
        lines.append("")
    return "\n".join(lines)


def _row(f: "Field[Any]", in_recipe: bool) -> list[str]:
    told = option_of(f)
    flag = f"`{flag_of(f)}`" if told.flag is not None else ""
    default = default_text(f) or ("off" if value_type(f) is bool else "")
    limits = " to ".join(_number(end) for end in told.limits or ())
    return [f"`{f.name}`"] * in_recipe + [flag, default, limits, told.text]


def _number(end: float) -> str:
    return f"{end:,}" if isinstance(end, int) else f"{end:g}"


if __name__ == "__main__":
    print(page(), end="")
