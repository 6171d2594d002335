"""The page of a run: one file of HTML that needs nothing else."""

from collections.abc import Callable, Sequence
from functools import partial
from math import nan

from snapcli.report import bars, curves, reliability, rows
from snapcli.report.alarm import alarm_section
from snapcli.report.answers import answers_section
from snapcli.report.arena import draw_arena
from snapcli.report.contents import Contents, StageRecord
from snapcli.report.cost_table import cost_tables
from snapcli.report.document import Section, document, figure, grid, header
from snapcli.report.foreign import foreign_section
from snapcli.report.heatmap import heatmap
from snapcli.report.markup import prose, tag, text
from snapcli.report.method_tables import tables
from snapcli.report.methods import BASE, Looks, drawn, main_source, named, our_name, pair
from snapcli.report.numbers import is_known, kilobytes, percent, plural, spoken
from snapcli.report.outcome import headlines
from snapcli.report.source_table import source_table
from snapcli.report.table import ablation_table
from snapcli.report.timeline import alarm_lane, device_lane, lane, timeline
from snapcli.report.verdict import lead, statements
from snapcli.report.words import figure_words
from snapcli.results.eval import MethodFigures, SourceFigures, StreamView

_SOURCES = {
    "float": "the float model",
    "int8": "the integer reference",
    "device": "scores that came back from the device",
}


def page(contents: Contents) -> str:
    """All of it: HTML, style and script."""
    sections = [
        Section("verdict", "Verdict", "Verdict", _verdict(contents)),
        Section("selective", "Refusing", "What to refuse", _of_sources(contents, _selective)),
        Section(
            "calibration",
            "Calibration",
            "Is what it states true?",
            _of_sources(contents, _calibration),
        ),
        Section("foreign", "Foreign", "Foreign inputs", foreign_section(contents.figures)),
        Section("answers", "By answer", "By answer", answers_section(contents.figures)),
        Section("stream", "Stream", "The stream", _streams(contents)),
        Section("alarm", "Alarm", "The alarm", alarm_section(contents.alarm)),
        Section("severity", "Severity", "Harder inputs", _of_sources(contents, _severity)),
        Section("taps", "Taps", "Taps", _taps(contents)),
        Section("cost", "Cost", "Cost", _cost(contents)),
        Section(
            "tables", "Tables", "All figures", _of_sources(contents, partial(_tables, contents))
        ),
        Section("sources", "Sources", "Float, int8, device", _sources(contents)),
        Section("ablations", "Ablations", "Ablations", _ablations(contents)),
        Section("missing", "Missing", "What is missing", _missing(contents)),
        Section("made", "Origin", "How it was made", _made(contents)),
    ]
    return document(
        f"{contents.run}: SNAP report",
        _header(contents),
        sections,
        f"Written by snap report from {contents.run}.",
        _switch(contents),
    )


def _source_words(contents: Contents, name: str) -> str:
    words = _SOURCES.get(name, name)
    is_shown = name == "int8" and contents.is_exact
    return f"{words}, which the device equals bit for bit" if is_shown else words


def _header(contents: Contents) -> str:
    facts = [f"{contents.model} on {contents.dataset}"]
    evaluation = contents.evaluation
    if evaluation:
        facts.append(f"seed {evaluation.seed}")
        examples = evaluation.sources[main_source(evaluation)].examples
        facts.append(", ".join(f"{n:,} {figure_words(name)}" for name, n in examples.items()))
        facts.append(f"intervals: 95 %, {evaluation.replicates:,} bootstrap samples")
    return header("SNAP report", contents.run, facts)


def _switch(contents: Contents) -> str:
    """Of the source that figures are shown for, where there are several."""
    if contents.evaluation is None or len(contents.evaluation.sources) < 2:
        return ""
    shown = main_source(contents.evaluation)
    buttons = (
        tag(
            "button",
            text(name),
            type="button",
            data_show=name,
            aria_pressed="true" if name == shown else "false",
            title=_source_words(contents, name),
        )
        for name in contents.evaluation.sources
    )
    return tag("div", *buttons, class_="sources", role="group", aria_label="Scores of")


def _of_sources(contents: Contents, make: Callable[[SourceFigures, Looks], str]) -> str:
    """The section for every source; one of them is seen."""
    evaluation = contents.evaluation
    if evaluation is None:
        return ""
    looks, shown = Looks.of(evaluation), main_source(evaluation)
    made = {name: make(source, looks) for name, source in evaluation.sources.items()}
    if not any(made.values()):
        return ""
    return "".join(
        tag(
            "div",
            markup or tag("p", text(f"There is none for {name}."), class_="words"),
            data_source=name,
            hidden=None if name == shown else "",
        )
        for name, markup in made.items()
    )


# ---- Sections ---------------------------------------------------------------


def _verdict(contents: Contents) -> str:
    cards = (
        tag(
            "div",
            tag("h3", text(s.question)),
            tag("p", text(s.figure), class_="figure"),
            tag("p", prose(s.words)),
            class_=f"card {s.tone}",
        )
        for s in statements(contents)
    )
    sides = [tag("div", *cards, class_="cards")]
    if contents.evaluation is not None:
        sides.append(tag("div", _of_sources(contents, partial(_gains, contents))))
    look = "verdict" if len(sides) > 1 else None
    return tag("p", prose(lead(contents)), class_="lead") + tag("div", *sides, class_=look)


def _gains(contents: Contents, source: SourceFigures, looks: Looks) -> str:
    method = named(source, our_name(source))
    if method is None or not method.gains:
        return ""
    words = (
        f"{method.name} minus {BASE}, both on the same bootstrap samples of "
        f"{_source_words(contents, source.source)}. Orange: better, the interval leaves "
        "out 0. Grey: no difference shown. Blue: worse. Every row has its own scale."
    )
    return figure(rows.gains(headlines(method.gains)), f"Against {BASE}", words)


def _selective(source: SourceFigures, looks: Looks) -> str:
    shown = [m.name for m in reversed(drawn(source)) if m.risk_coverage]
    if not shown:
        return ""
    legend = looks.legend(shown)
    words = (
        "The least uncertain inputs are answered first, clean and corrupted together. Lower is "
        "better."
    )
    figures = [figure(curves.risk_coverage(source, looks), "Risk and coverage", words, legend)]
    if any(m.clusters for m in pair(source)):
        words = (
            "Share of the errors at severities 4 and 5 that is refused at the threshold of 90 % "
            "recall; behind it, how many errors there are."
        )
        legend = looks.legend([m.name for m in pair(source)])
        picture = rows.clusters(source, looks)
        figures.append(figure(picture, "Failure clusters", words, legend))
    return grid(*figures)


def _calibration(source: SourceFigures, looks: Looks) -> str:
    figures = []
    shown = [m.name for m in pair(source)]
    for key in reliability.panels(source):
        title = figure_words(key)
        picture = reliability.diagram(source, key, title, looks)
        if picture:
            title = title[:1].upper() + title[1:]
            figures.append(figure(picture, title, "", looks.legend(shown)))
    if not figures:
        return ""
    words = (
        "15 bins of equal mass, the mean over the maps that judge. On the diagonal what is stated "
        "comes true as often as stated, below it less often. Posterior: the probability of the "
        "answer. U: the score itself as the probability that the answer is wrong."
    )
    return tag("p", text(words), class_="words") + grid(*figures)


def _streams(contents: Contents) -> str:
    """All methods for one source, for the others the two that matter: it is the largest part."""
    main = main_source(contents.evaluation) if contents.evaluation else None

    def make(source: SourceFigures, looks: Looks) -> str:
        shown = reversed(drawn(source)) if source.source == main else pair(source)
        return _stream(source, looks, [m for m in shown if m.stream])

    return _of_sources(contents, make) + _device(contents)


def _stream(source: SourceFigures, looks: Looks, lanes: Sequence[MethodFigures]) -> str:
    view = source.stream
    if view is None or not lanes:
        return ""
    words = (
        f"{plural(view.frames, 'frame')} that begin clean and get worse, with foreign bursts. "
        f"Shaded: {plural(len(view.events), 'event')} in which accuracy over 100 frames falls "
        f"below {percent(view.lower)}. Above them, the frames until the first alarm. The "
        "dashed threshold was frozen on the dev stream."
    )
    name = f"stream-{source.source}"
    figures = [_lane(view, m, looks, name, m is lanes[0]) for m in lanes]
    seen = len([m for m in lanes if m in pair(source)]) or 1
    rest = figures[seen:]
    markup = tag("p", text(words), class_="words") + "".join(figures[:seen])
    if rest:
        title = tag(
            "summary",
            text("The other method" if len(rest) == 1 else f"The other {len(rest)} methods"),
        )
        markup += tag("details", title, *rest)
    return markup


def _lane(view: StreamView, method: MethodFigures, looks: Looks, name: str, is_first: bool) -> str:
    events = method.events
    words = ""
    if events:
        delay = events.delay.value
        waited = f"median delay {delay:,.0f} frames" if is_known(delay) else "no event detected"
        words = (
            f"On all test streams: frame AUPRC {spoken(events.auprc)}, {waited}, "
            f"{percent(events.miss_rate)} of {plural(events.events, 'event')} missed, "
            f"{percent(events.false_positives)} of clean frames above the threshold of 90 % "
            "recall."
        )
    picture = timeline(view, lane(method, looks(method.name)), name, is_first)
    return figure(picture, method.name, words, wide=True)


def _device(contents: Contents) -> str:
    parts = []
    for target, stream in contents.streams.items():
        report = stream.report
        frames = report.frames
        view = StreamView(frames, lower=nan, events=(), segments=report.segments)
        words = (
            f"As {report.part} answered: {report.bit_exact:,} of {frames:,} frames bit for "
            f"bit as the integer reference, {percent(report.abstained / frames)} refused, "
            f"{percent(report.foreign / frames)} called foreign."
        )
        picture = timeline(view, device_lane(stream), f"played-{target}")
        parts.append(figure(picture, f"Played through {target}", words, wide=True))
        if stream.alarm:
            words = (
                f"The alarm of the device watches {report.watched} and adds its evidence up: "
                f"{plural(report.alarms, 'alarm')}, each until the statistic has fallen again."
            )
            picture = timeline(view, alarm_lane(stream.alarm, "statistic"), f"alarm-{target}")
            parts.append(figure(picture, f"The alarm of {target}", words, wide=True))
    return "".join(parts)


def _severity(source: SourceFigures, looks: Looks) -> str:
    """Curves where types have a scale of severities, and every type."""
    figures = []
    if curves.severities_of(source):
        shown = [m.name for m in reversed(drawn(source)) if m.by_severity]
        legend = looks.legend(shown)
        words = (
            "Positive class: a wrong answer; mean over the types of a severity. The more answers "
            "are wrong, the higher AUPR is for any score."
        )
        figures += [
            figure(
                curves.by_severity(source, lambda f: f.aupr, "AUPRC", looks), "AUPRC", words, legend
            ),
            figure(
                curves.by_severity(source, lambda f: f.auroc, "AUROC", looks),
                "AUROC",
                "Positive class: a wrong answer. Bands: 95 % intervals.",
                legend,
            ),
        ]
    if any(m.by_type for m in drawn(source)):
        mean = "mean over severities" if figures else "each type in its one severity"
        words = f"AUROC, {mean}. Dots with intervals, thin marks: all other methods."
        both = looks.legend([m.name for m in pair(source)])
        figures.append(figure(rows.by_type(source, looks), "By corruption type", words, both))
    return grid(*figures) if figures else ""


def _taps(contents: Contents) -> str:
    figures = []
    evaluation = contents.evaluation
    if evaluation is not None:
        source = evaluation.sources[main_source(evaluation)]
        if source.taps:
            names = list(source.taps)
            # The last row is that of S.
            names += ["S"] * (len(source.tap_correlation) - len(names))
            picture = heatmap(names, source.tap_correlation)
            words = "Correlation of the surprisals over all test data, with S last."
            figures.append(figure(picture, "Taps of this model", words))
    if contents.taps is not None:
        names = [candidate.tap for candidate in contents.taps.candidates]
        with_score = [candidate.score_correlation for candidate in contents.taps.candidates]
        matrix = [[*line, r] for line, r in zip(contents.taps.correlation, with_score, strict=True)]
        picture = heatmap([*names, "S"], [*matrix, [*with_score, 1.0]])
        words = f"On dev data. Recommended: {', '.join(contents.taps.recommended) or 'none'}."
        figures.append(figure(picture, "Every block as a tap", words))
    return grid(*figures) if figures else ""


def _cost(contents: Contents) -> str:
    parts = []
    for target, bench in contents.benches.items():
        what = f"{bench.counter} of one inference on {bench.part}"
        figures = (
            figure(bars.by_stage(bench), f"{target}: by stage", f"Share of the {what}."),
            figure(bars.memory(bench), f"{target}: memory", "RAM: static data and stack."),
            figure(bars.by_step(bench), f"{target}: by layer", "The most expensive ones."),
        )
        parts.append(grid(*figures))
    for target, size in contents.sizes.items():
        if target not in contents.benches:
            parts.append(grid(figure(bars.memory(size), f"{target}: memory", "As linked.")))
    for target, arena in contents.arenas.items():
        words = (
            f"{kilobytes(arena.arena_bytes)}, kernels {arena.kernels}. A box is a buffer: as wide "
            "as it lives, as high as it is large."
        )
        parts.append(figure(draw_arena(arena), f"{target}: arena over time", words, wide=True))
    if contents.cost is not None:
        words = "Each method compiled from the same backbone by the same compiler."
        parts.append(tag("h3", "What each method costs"))
        parts.append(tag("p", text(words), class_="words"))
        parts += cost_tables(contents.cost)
    return "".join(parts)


def _tables(contents: Contents, source: SourceFigures, looks: Looks) -> str:
    note = (
        f"Scores of {_source_words(contents, source.source)}. Under each figure its "
        "95 % interval. Bold: the best value, which others may equal within their intervals. "
        "Click a heading to sort."
    )
    parts = [tag("p", text(note), class_="words")]
    for title, words, markup in tables(source, looks):
        parts += [tag("h3", text(title)), tag("p", text(words), class_="words"), markup]
    return "".join(parts)


def _sources(contents: Contents) -> str:
    if contents.evaluation is None or len(contents.evaluation.sources) < 2:
        return ""
    words = "The same figure by the float model, the integer reference and the device."
    markup = tag("p", text(words), class_="words")
    markup += source_table(contents.evaluation, Looks.of(contents.evaluation))
    return markup


def _ablations(contents: Contents) -> str:
    return "".join(map(ablation_table, contents.ablations))


def _missing(contents: Contents) -> str:
    items = (tag("li", text(words)) for words in contents.missing.values())
    return tag("ul", *items, class_="missing") if contents.missing else ""


def _made(contents: Contents) -> str:
    by_command: dict[str, list[str]] = {}
    for made in contents.made:
        by_command.setdefault(made.command, []).append(made.stage)
    commands = "\n".join(f"{c}  # {', '.join(stages)}" for c, stages in by_command.items())
    parts = [
        tag("h3", "Commands"),
        tag("pre", tag("code", text(commands))),
        tag("h3", "Versions"),
        _versions(contents.made),
        tag("h3", "Files and their sha256"),
        *map(_outputs, contents.made),
    ]
    if contents.recipe:
        recipe = tag("pre", tag("code", text(contents.recipe)))
        parts.append(tag("details", tag("summary", "config.toml"), recipe))
    return "".join(parts)


def _versions(made: Sequence[StageRecord]) -> str:
    """Once where all stages agree, else with the stages; tools with the flags they were given."""
    by_name: dict[str, dict[str, list[str]]] = {}
    flags: dict[str, dict[str, None]] = {}
    for one in made:
        tools = {name: tool.version for name, tool in one.tools.items()}
        for name, version in {**one.versions, **tools}.items():
            by_name.setdefault(name, {}).setdefault(version, []).append(one.stage)
        for name, tool in one.tools.items():
            flags.setdefault(name, {}).update(dict.fromkeys(tool.flags))

    def said(versions: dict[str, list[str]]) -> str:
        (version, stages), *others = versions.items()
        if not others and len(stages) == len(made):
            return version
        return "; ".join(f"{v} ({', '.join(stages)})" for v, stages in versions.items())

    items = [
        tag("dt", text(name))
        + tag(
            "dd",
            text(said(versions)),
            *(tag("code", text(line)) for line in flags.get(name, ())),
        )
        for name, versions in by_name.items()
    ]
    return tag("dl", *items, class_="versions")


def _outputs(made: StageRecord) -> str:
    state = "" if made.state == "done" else f", {made.state}"
    seed = "" if made.seed is None else f", seed {made.seed}"
    said = f"{made.stage}: {plural(len(made.outputs), 'file')}{seed}{state}"
    lines = "\n".join(f"{digest}  {name}" for name, digest in made.outputs.items())
    return tag("details", tag("summary", text(said)), tag("pre", tag("code", text(lines))))
