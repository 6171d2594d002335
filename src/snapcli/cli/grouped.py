"""Help that shows options under headings."""

from typing import Any

from typer.core import TyperCommand

_COLUMN = 30  # the widest that flags get before their help starts on a line of its own
_NO_GROUP = ""


class GroupedCommand(TyperCommand):
    """Options stand under their group (Typer's `rich_help_panel`), those without one at the end."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], _NO_GROUP: []}
        for parameter in self.get_params(ctx):
            row = parameter.get_help_record(ctx)
            if row is None:
                continue
            is_argument = parameter.param_type_name == "argument"
            group = getattr(parameter, "rich_help_panel", None) or _NO_GROUP
            sections.setdefault("Arguments" if is_argument else group, []).append(row)
        rest = sections.pop(_NO_GROUP)
        grouped = any(name != "Arguments" for name in sections)
        sections["Other options" if grouped else "Options"] = rest
        rows = [row for rows in sections.values() for row in rows]
        # One column for all sections.
        width = max(len(flag) for flag, _ in rows if len(flag) <= _COLUMN)
        for heading, rows in sections.items():
            if rows:
                with formatter.section(heading):
                    formatter.write_dl([(flag.ljust(width), text) for flag, text in rows], _COLUMN)
