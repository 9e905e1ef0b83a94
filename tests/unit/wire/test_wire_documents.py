"""Reading YAML and JSON: YAML 1.2 scalars, lines, and texts that are meant to hurt."""

import json
from typing import Any

import pytest

from muster.domain.errors import Invalid
from muster.wire.documents import MAX_BYTES, dotted, read_document

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", "on"),
        ("no", "no"),
        ("yes", "yes"),
        ("02:30:00", "02:30:00"),
        ("2024-01-01", "2024-01-01"),
        ("1_000", "1_000"),
        ("true", True),
        ("FALSE", False),
        ("010", 10),
        ("08", 8),
        ("-7", -7),
        ("0o17", 15),
        ("0xff", 255),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("~", None),
        ("", None),
        ("null", None),
        ('"010"', "010"),
        ("'true'", "true"),
        ("é—试", "é—试"),
    ],
)
def test_scalars_follow_yaml_1_2(text: str, value: Any) -> None:
    found = read_document(f"key: {text}").data["key"]
    assert found == value
    assert type(found) is type(value)


def test_json_is_read_as_it_is() -> None:
    data = {"name": "a", "roles": {"worker": {"command": ["x", "y\n"], "replicas": 2}}, "hold": True, "cluster": None}
    assert read_document(json.dumps(data)).data == data


def test_json_escapes_of_characters_beyond_the_first_plane_are_one_character() -> None:
    data = {"smile": "😀", "text": "\\ud83d\\ude00", "both": "\\😀"}
    assert read_document(json.dumps(data, ensure_ascii=True)).data == data


def test_an_empty_document_holds_nothing() -> None:
    assert read_document("# only a comment\n").data is None


def test_every_value_knows_its_line_and_unknown_places_that_of_what_is_around() -> None:
    document = read_document("a: 1\nb:\n  - x\n  - y: 2\n    z: 3\nteam.name: t\n")
    assert [document.line(path) for path in ("a", "b", "b[0]", "b[1].z", "team.name")] == [1, 2, 3, 5, 6]
    assert document.line("b[1].missing.deeper") == 4
    assert document.line("absent") == 1


def test_dotted_paths_read_as_people_write_them() -> None:
    assert dotted(("roles", "worker", "command", 0)) == "roles.worker.command[0]"
    assert dotted(()) == ""


def test_repeated_keys_are_all_reported_with_their_lines() -> None:
    with pytest.raises(Invalid) as refused:
        read_document("a: 1\nb: {x: 1, x: 2}\na: 2\n")
    assert [(p.path, p.line) for p in refused.value.problems] == [("b.x", 2), ("a", 3)]


def test_merge_keys_give_defaults_that_the_mapping_itself_overrides() -> None:
    text = "base: &base {cpu: 1, gpu: 2}\nother: &other {gpu: 3, memory: 4}\nmine: {<<: [*base, *other], cpu: 9}\n"
    assert read_document(text).data["mine"] == {"cpu": 9, "gpu": 2, "memory": 4}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a: [1", id="unclosed"),
        pytest.param("a: 1\n---\nb: 2", id="two documents"),
        pytest.param("a: !!python/name:os.system ''", id="python object"),
        pytest.param("a: !mine x", id="unknown tag"),
        pytest.param("a: *nobody", id="unknown alias"),
        pytest.param("a: !!bool perhaps", id="no bool"),
        pytest.param("a: !!timestamp never", id="no timestamp"),
        pytest.param("a: !!int ''", id="no int"),
        pytest.param("a: !!int twelve", id="no number"),
        pytest.param("? [a, b]\n: c", id="key that is a list"),
        pytest.param("<<: 5", id="merge of a number"),
        pytest.param("a: \x00", id="control character"),
        pytest.param("a: \ud800", id="lone surrogate"),
        pytest.param("a: " + "1" * 5000, id="endless number"),
    ],
)
def test_what_is_no_document_is_refused_in_words(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_document(text)
    assert str(refused.value)


def _bomb(inner: str, levels: int) -> str:
    lines = [f"a0: &a0 {inner}"]
    for level in range(1, levels):
        aliases = ", ".join([f"*a{level - 1}"] * 9)
        body = f"[{aliases}]" if inner.startswith("[") else f"{{<<: [{aliases}]}}"
        lines.append(f"a{level}: &a{level} {body}")
    return "\n".join(lines)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(_bomb("[x, x, x, x, x, x, x, x, x]", 12), id="aliases"),
        pytest.param(_bomb("{x: 1}", 12), id="merges"),
        pytest.param("&a [*a]", id="list inside itself"),
        pytest.param("&a {b: *a}", id="mapping inside itself"),
        pytest.param("&a {<<: *a}", id="merged into itself"),
        pytest.param("[" * 500_000, id="open brackets"),
        pytest.param("{a: " * 100_000, id="open braces"),
        pytest.param("[" * 5000 + "]" * 5000, id="nested lists"),
        pytest.param("- " * 5000 + "x", id="nested block lists"),
        pytest.param("".join("  " * depth + "a:\n" for depth in range(500)), id="nested mappings"),
        pytest.param("[" + "x, " * 200_000 + "]", id="many values"),
        pytest.param("a" * (MAX_BYTES + 1), id="large text"),
    ],
)
@pytest.mark.timeout(120)
def test_texts_that_grow_or_nest_without_end_are_refused(text: str) -> None:
    with pytest.raises(Invalid):
        read_document(text)
