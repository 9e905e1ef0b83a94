"""The plain page keeps its promises: nothing inline, nothing as markup, every text in both languages."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import muster

pytestmark = pytest.mark.fast

PAGE = Path(muster.__file__).parent / "server" / "page"
HTML = (PAGE / "index.html").read_text(encoding="utf-8")
SCRIPTS = {path.name: path.read_text(encoding="utf-8") for path in sorted(PAGE.glob("*.js"))}
SCRIPT = "\n".join(SCRIPTS.values())


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def tags() -> list[tuple[str, dict[str, str | None]]]:
    reader = Reader()
    reader.feed(HTML)
    return reader.tags


def words(language: str) -> set[str]:
    table = re.search(rf"^  {language}: {{\n(.*?)^  }},", SCRIPT, re.MULTILINE | re.DOTALL)
    assert table is not None
    return set(re.findall(r'(\w+): "', table[1]))


def test_nothing_is_inline() -> None:
    for tag, attributes in tags():
        assert tag != "style"
        assert tag != "script" or attributes["src"] == "/page/page.js"
        assert not any(name == "style" or name.startswith("on") for name in attributes)


def test_data_never_becomes_markup_or_code() -> None:
    for danger in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("):
        assert danger not in SCRIPT


def test_both_languages_have_the_same_words() -> None:
    assert words("en") == words("zh")


def test_the_page_speaks_of_nodes_as_the_commands_do() -> None:
    texts = "\n".join(re.findall(r'"(.*?)"', SCRIPTS["words.js"])) + "\n".join(re.findall(r">([^<]+)<", HTML))
    assert "machine" not in texts.lower()
    assert "机器" not in texts


def test_every_word_that_is_asked_for_is_there() -> None:
    asked = {attributes["data-text"] for _, attributes in tags() if "data-text" in attributes}
    asked |= set(re.findall(r'word\("(\w+)"', SCRIPT))
    assert asked <= words("en")


def test_no_word_is_left_over() -> None:
    """A word is named in a call, in a table of names or in the document."""
    code = "\n".join(text for name, text in SCRIPTS.items() if name != "words.js")
    named = set(re.findall(r'"(\w+)"', code)) | {attributes.get("data-text") for _, attributes in tags()}
    assert words("en") <= named


def test_every_script_that_is_imported_is_there_with_what_is_asked_of_it() -> None:
    for names, file in re.findall(r'^import \{ (.*?) \} from "\./(.*?)";', SCRIPT, re.MULTILINE):
        for name in names.split(", "):
            assert re.search(rf"^export (async )?(function|const|class) {name}\b", SCRIPTS[file], re.MULTILINE), name


def test_every_element_that_is_asked_for_is_there() -> None:
    known = {attributes.get("id") for _, attributes in tags()}
    assert set(re.findall(r'\bat\("([\w-]+)"\)', SCRIPT)) <= known


def test_every_input_has_a_label() -> None:
    inside = 0
    for line in HTML.splitlines():
        inside += line.count("<label")
        if re.search(r"<(input|select)", line):
            assert inside > 0, line
        inside -= line.count("</label")
