"""The weekly digest as text, with bars, and as HTML, whose bars are coloured cells: every mail program shows those.

The picture of the report is attached as SVG, and shown inside as PNG where the machine has rsvg-convert. A browser
could make one, too, but takes more memory than a small service may have.
"""

from collections.abc import Iterator, Sequence
from html import escape

from muster.lib.quantities import about_number
from muster.monitor.digest_facts import all_facts
from muster.monitor.digest_sections import Row, Section, sections
from muster.monitor.stories import DigestStory
from muster.monitor.words import Words
from muster.pictures.rasterising import NoPng, png_of
from muster.pictures.report_picture import WIDTH, draw_report, height_of
from muster.ports.notifying import Picture

_BAR_CELLS = 24
_BAR_PIXELS = 240
_MOST_NAME = 40


def digest_title(story: DigestStory, words: Words, until: str) -> str:
    known = [facts for _, facts in all_facts(story)]
    if not known:
        return words.say("digest.title.plain", until=until)
    hours = about_number(sum(facts.gpu_hours for facts in known))
    return words.say("digest.title", until=until, jobs=sum(facts.jobs for facts in known), gpu_hours=hours)


def digest_text(story: DigestStory, words: Words, window: str) -> str:
    lines = [window, ""]
    for section in sections(story, words):
        lines += [section.title, *(f"  {note}" for note in section.notes)]
        lines += [f"  {_short(row.name):<20} {_bar(row)}{row.text}" for row in section.rows]
        lines.append("")
    return "\n".join(lines)


def digest_html(story: DigestStory, words: Words, window: str, ending: str, pictures: Sequence[Picture]) -> str:
    parts = [f'<html><body style="font-family:sans-serif"><p>{escape(window)}</p>']
    for section in sections(story, words):
        parts += _section_html(section)
    for picture in pictures:
        if picture.media_type == "image/png":
            alternative = escape(words.say("digest.picture"), quote=True)
            parts.append(f'<p><img src="cid:{escape(picture.name, quote=True)}" alt="{alternative}"></p>')
    return "".join([*parts, f"<p><small>{escape(ending)}</small></p></body></html>"])


def digest_pictures(story: DigestStory) -> tuple[Picture, ...]:
    return tuple(picture for place, _ in enumerate(all_facts(story)) for picture in _pictures(story, place))


def _pictures(story: DigestStory, place: int) -> Iterator[Picture]:
    report = all_facts(story)[place][0].by_user
    try:
        svg = draw_report(report)
    except (KeyError, TypeError, AttributeError):
        return  # a server of another version, whose report has other keys
    yield Picture(f"usage-{place + 1}.svg", "image/svg+xml", svg.encode())
    try:
        yield Picture(f"usage-{place + 1}.png", "image/png", png_of(svg, WIDTH, height_of(report), browsers=()))
    except (NoPng, OSError):
        return  # the SVG is there


def _section_html(section: Section) -> Iterator[str]:
    yield f"<{section.heading}>{escape(section.title)}</{section.heading}>"
    for note in section.notes:
        yield f"<p>{escape(note)}</p>"
    if not section.rows:
        return
    yield '<table cellspacing="2" cellpadding="2">'
    for row in section.rows:
        yield f"<tr><td>{escape(_short(row.name))}</td><td>"
        if row.part is not None:
            width = max(1, round(row.part * _BAR_PIXELS))
            colour = "#d55e00" if row.is_bad else "#0072b2"
            yield f'<table cellspacing="0"><tr><td bgcolor="{colour}" width="{width}" height="12"></td></tr></table>'
        yield f"</td><td>{escape(row.text)}</td></tr>"
    yield "</table>"


def _bar(row: Row) -> str:
    if row.part is None:
        return ""
    filled = min(_BAR_CELLS, max(1, round(row.part * _BAR_CELLS)))
    return "█" * filled + " " * (_BAR_CELLS - filled) + " "


def _short(name: str) -> str:
    line = "".join(letter if letter.isprintable() else " " for letter in name)
    return line if len(line) <= _MOST_NAME else f"{line[: _MOST_NAME - 1]}…"
