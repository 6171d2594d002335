"""What pages of HTML have in common: one file with style and script, sections, figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from snapcli.report.markup import tag, text

# Before anything is drawn, so that the page does not flash in the other theme.
_EARLY = (
    "try{const t=localStorage.getItem('snap-theme');"
    "if(t)document.documentElement.dataset.theme=t}catch{}"
)


@dataclass(frozen=True)
class Section:
    """name: its anchor. short: its title among others. markup: all below the heading; a section
    without any is left out."""

    name: str
    short: str
    title: str
    markup: str


def document(
    title: str,
    header: str,
    sections: Sequence[Section],
    footer: str,
    beside_links: str = "",
    generator: str = "snap report",
) -> str:
    """All of it. beside_links: markup at the end of the bar that links to the sections."""
    shown = [section for section in sections if section.markup]
    links = (tag("a", text(s.short), href=f"#{s.name}") for s in shown)
    style, script = (files("snapcli.report").joinpath(f"page.{kind}") for kind in ("css", "js"))
    head = [
        '<meta charset="utf-8">',
        f'<meta name="generator" content="{generator}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        '<link rel="icon" href="data:,">',
        tag("title", text(title)),
        tag("style", style.read_text("utf-8")),
        tag("script", _EARLY),
    ]
    body = [
        header,
        tag("nav", tag("div", *links, class_="links"), beside_links, aria_label="Sections"),
        tag("main", *map(_section, shown)),
        tag("footer", text(footer)),
        tag("div", id="tip", role="tooltip", hidden=""),
        tag("script", script.read_text("utf-8")),
    ]
    return (
        "<!doctype html>\n" + tag("html", tag("head", *head), tag("body", *body), lang="en") + "\n"
    )


def header(kind: str, title: str, facts: Sequence[str]) -> str:
    """With the switch between light and dark."""
    switch = tag(
        "button",
        tag("span", "", aria_hidden="true"),
        type="button",
        id="theme",
        title="Light or dark",
        aria_label="Switch between light and dark",
    )
    said = tag("div", tag("p", text(kind), class_="kind"), tag("h1", text(title)))
    return tag(
        "header",
        tag("div", said, switch, class_="top"),
        tag("p", *(tag("span", text(fact)) for fact in facts), class_="facts"),
    )


def _section(section: Section) -> str:
    return tag("section", tag("h2", text(section.title)), section.markup, id=section.name)


def figure(picture: str, title: str, words: str, legend: str = "", wide: bool = False) -> str:
    look = "wide" if wide else None
    inside = tag("div", picture, class_="picture", tabindex="0" if wide else None)
    said = tag("p", text(words)) if words else ""
    return tag(
        "figure", tag("figcaption", tag("h3", text(title)), said), inside, legend, class_=look
    )


def grid(*figures: str) -> str:
    return tag("div", *figures, class_="figures")


def legend(entries: Sequence[tuple[str, str]]) -> str:
    """entries: (name, class of the style sheet). Pointing at one dims all others in the picture."""
    line = '<svg viewBox="0 0 22 8" aria-hidden="true"><path class="line" d="M1,4H21"/></svg>'
    buttons = (
        tag("button", line, text(name), type="button", class_=look, data_method=name)
        for name, look in entries
    )
    return tag("div", *buttons, class_="legend")
