"""A job spec costs work in proportion to its length, whatever it contains."""

import json

import pytest

from muster.domain.errors import Invalid
from muster.wire.documents import MAX_DOCUMENTS, MAX_VALUES, Document, read_document, read_documents, refuse_too_much
from muster.wire.spec_problems import MAX_KEYS, MAX_PROBLEMS
from muster.wire.specs import read_source, read_spec, reading_of
from tests.security.work_counting import growth

pytestmark = pytest.mark.fast
LINEAR = 6.0


def refused(source: str, **changes: object) -> Invalid:
    with pytest.raises(Invalid) as caught:
        read_source(source, **changes)  # type: ignore[arg-type]
    return caught.value


def unknown_keys(count: int) -> str:
    return "command: 'true'\nname: a\n" + "".join(f"key{n}: 1\n" for n in range(count))


def test_unknown_keys_cost_linear_work() -> None:
    assert growth(lambda count: refused(unknown_keys(count)), 500) < LINEAR


def test_at_most_a_hundred_problems_are_reported_and_all_are_counted() -> None:
    error = refused(unknown_keys(12_000))
    assert len(error.problems) == MAX_PROBLEMS
    assert "12000 problems" in error.message
    assert f"first {MAX_PROBLEMS}" in error.hint
    assert [problem.line for problem in error.problems] == list(range(3, 3 + MAX_PROBLEMS))


@pytest.mark.parametrize("inside", ["", "env: "])
def test_a_mapping_of_very_many_keys_is_refused_as_one_problem(inside: str) -> None:
    keys = ", ".join(f"k{number}: 1" for number in range(MAX_KEYS + 1))
    error = refused(f"{{name: a, command: 'true', {inside}{'{' if inside else ''}{keys}{'}' if inside else ''}}}")
    assert f"at most {MAX_KEYS} keys" in error.message
    assert error.problems == ()


def test_overrides_cost_linear_work() -> None:
    def overridden(count: int) -> object:
        values = {f"env.V{n}": "1" for n in range(count)}
        return reading_of(Document({"name": "a", "command": "true"}), overrides=values)

    assert growth(overridden, 200) < LINEAR


def test_an_override_changes_neither_the_spec_nor_the_value_that_it_was_given() -> None:
    spec, env = {"name": "a", "command": "true", "env": {"A": "1"}}, {"B": "2"}
    found = reading_of(Document(spec), overrides={"env": env, "env.C": "3", "env.D": "4"}).spec
    assert found.env == {"B": "2", "C": "3", "D": "4"}
    assert env == {"B": "2"}
    assert spec["env"] == {"A": "1"}


def test_an_override_nested_a_million_deep_is_refused() -> None:
    error = refused("name: a\ncommand: 'true'\n", overrides={".".join("a" * 100_000): 1})
    assert "too deeply" in error.message


@pytest.mark.parametrize(
    "text",
    [
        "${params." * 50_000,
        " ".join(f"${{params.p{n}}}" for n in range(20_000)),
    ],
    ids=["never closed", "all unknown"],
)
def test_params_in_a_command_cost_linear_work(text: str) -> None:
    spec = {"name": "a", "command": "true", "env": {"A": text}, "params": {f"q{n}": 1 for n in range(20_000)}}
    with pytest.raises(Invalid) as caught:
        reading_of(Document(spec))
    assert len(caught.value.problems) <= MAX_PROBLEMS
    assert sum(len(str(problem)) for problem in caught.value.problems) < 1_000_000


def test_given_params_that_nothing_uses_cost_linear_work() -> None:
    def given(count: int) -> object:
        return refused(
            "name: a\ncommand: 'true'\nenv: {" + ", ".join(f"E{n}: x" for n in range(count)) + "}\n",
            params={f"p{n}": 1 for n in range(count)},
        )

    assert growth(given, 300) < LINEAR


def test_nodes_that_are_wanted_and_unwanted_cost_linear_work() -> None:
    def where(count: int) -> object:
        nodes = json.dumps([f"n{n}" for n in range(count)])
        return refused(f"name: a\ncommand: 'true'\nwhere: {{nodes: {nodes}, notNodes: {nodes}}}\n")

    assert growth(where, 500) < LINEAR


def test_merges_of_many_mappings_cost_linear_work() -> None:
    def merged(count: int) -> object:
        large = ", ".join(f"k{n}: 1" for n in range(count))
        return read_document(f"a: &a {{{large}}}\ne: &e {{}}\nm: {{<<: [*a{', *e' * count}]}}\n")

    assert growth(merged, 300) < LINEAR


def test_an_earlier_merge_still_wins_over_a_later_one() -> None:
    data = read_document("a: &a {x: 1, y: 1}\nb: &b {x: 2, z: 2}\nm: {<<: [*a, *b], y: 3}\n").data
    assert data["m"] == {"x": 1, "y": 3, "z": 2}


def test_a_file_of_very_many_documents_is_refused() -> None:
    with pytest.raises(Invalid, match=f"more than {MAX_DOCUMENTS} documents"):
        read_documents("---\n" * 200_000)


def test_a_spec_of_too_many_values_is_refused_as_text_and_as_json() -> None:
    with pytest.raises(Invalid, match="too many values"):
        read_spec(f"a: [{'1,' * (4 * MAX_VALUES)}1]")
    with pytest.raises(Invalid, match="too many values"):
        refuse_too_much({"a": [1] * MAX_VALUES})


def test_very_many_mounts_are_refused() -> None:
    mounts = [{"source": "/data", "target": f"m{n}"} for n in range(5_000)]
    with pytest.raises(Invalid) as caught:
        reading_of(Document({"name": "a", "command": "true", "mounts": mounts}))
    assert [problem.path for problem in caught.value.problems] == ["mounts"]


def test_a_key_of_very_many_dots_costs_little() -> None:
    error = refused(f"name: a\ncommand: 'true'\nresources: {{{'a.' * 100_000}: 1}}\n")
    assert [problem.line for problem in error.problems] == [3]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("command: '" + "${params.a}" * 2_500 + "'\nparams: {a: " + "x" * 100_000 + "}", "bytes long"),
        ("command: 'true'\nenv: {V: '" + "${params.a}" * 3 + "'}\nparams: {a: " + "x" * 60_000 + "}", "bytes long"),
        ("command: '" + "x" * 60_000 + "'\nreplicas: 4096", "of all tasks"),
        ("env: {V: " + "x" * 60_000 + "}\nroles: {w: {command: 'true', replicas: 4096}}", "of all tasks"),
    ],
)
def test_a_job_is_not_larger_than_can_be_launched(source: str, said: str) -> None:
    assert any(said in problem.message for problem in refused(f"name: a\n{source}").problems)


@pytest.mark.parametrize("text", ["command: '{}'", "command: 'true'\nenv: {{V: '{}'}}", "command: [echo, '{}']"])
def test_a_text_that_is_too_long_is_one_problem_with_the_limit_of_linux(text: str) -> None:
    [problem] = refused(f"name: a\n{text.format('x' * 131_072)}").problems
    assert (problem.message, "at most 128 KiB" in problem.hint) == ("is 131072 characters long", True)
    read_source(f"name: a\n{text.format('x' * 131_071)}")


def test_too_many_tasks_are_one_problem_without_its_consequences() -> None:
    [problem] = refused(f"name: a\ncommand: '{'x' * 200}'\nreplicas: 2000000000").problems
    assert problem.path == "replicas"


def test_params_of_a_usual_job_are_replaced() -> None:
    spec = read_spec(
        "name: a\ncommand: '" + "${params.a} " * 1_000 + "'\nparams: {a: " + "x" * 100 + "}\nreplicas: 100"
    )
    assert len(spec.roles[0].command[-1]) == 101_000


@pytest.mark.parametrize("labels", [{f"k{n}": "v" for n in range(101)}, {"k" * 300: "v"}, {"k": "v" * 300}])
def test_labels_are_few_and_short(labels: dict[str, str]) -> None:
    assert all(
        "labels" in problem.path
        for problem in refused(json.dumps({"name": "a", "command": "x", "labels": labels})).problems
    )
