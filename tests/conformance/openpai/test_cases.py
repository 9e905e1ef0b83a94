"""What OpenPAI's documents say of a job file, held against what its tasks do here, on this machine without images."""

from pathlib import Path
from typing import Any

import pytest

from muster.domain.errors import Invalid
from muster.domain.specs import JobSpec
from muster.wire.specs import read_source
from tests.conformance.openpai.cases import ON_THIS_MACHINE, assert_says, case, finished, keys_told, names
from tests.unit.wire_dialects.reading import translated

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("name", names("Succeeded", "Failed"))
def test_tasks_do_what_openpai_says(name: str, tmp_path: Path) -> None:
    given = case(name)
    spec = read_source(given.text, overrides=ON_THIS_MACHINE).spec

    ends = dict(finished(spec, tmp_path))

    assert ends.keys() == given.expected["tasks"].keys()
    for task, wanted in given.expected["tasks"].items():
        output = ends[task].stdout
        assert ends[task].returncode == wanted["exit"], f"{task}:\n{output}\n{ends[task].stderr}"
        assert_says(output, wanted["says"])
        assert not [text for text in given.silent if text in output]
    is_failed = any(end.returncode for end in ends.values())
    assert given.outcome == ("Failed" if is_failed else "Succeeded")


@pytest.mark.parametrize("name", names("Succeeded", "Failed"))
def test_spec_is_what_openpai_says_and_only_what_differs_is_told(name: str) -> None:
    given = case(name)
    reading = read_source(given.text)

    assert keys_told(list(reading.warnings)) == given.expected.get("warnings", [])
    for path, value in given.expected.get("spec", {}).items():
        assert _at(reading.spec, path) == value


@pytest.mark.parametrize("name", names("Refused"))
def test_what_openpai_refuses_is_refused_with_its_keys(name: str) -> None:
    given = case(name)
    with pytest.raises(Invalid) as refused:
        read_source(given.text)

    told = [str(problem) for problem in refused.value.problems]
    assert sorted(keys_told(told)) == sorted(given.expected["problems"])
    assert not [text for text in given.silent if text in "\n".join(told)]


@pytest.mark.parametrize("name", names("Translated"))
def test_parts_of_the_platform_are_asked_for_in_the_spec(name: str) -> None:
    given = case(name)
    translation = translated(given.text)

    assert translation.refusals == ()
    assert {key: translation.data[key] for key in given.expected["data"]} == given.expected["data"]
    assert keys_told(list(translation.warnings)) == given.expected.get("warnings", [])
    assert dict(translation.secrets) == given.expected.get("carried", {})
    assert not [text for text in given.silent if text in repr(translation)]


def _at(spec: JobSpec, path: str) -> Any:
    value: Any = spec
    for key in path.split("."):
        value = getattr(value, key)
    return str(value) if path == "framework" else value
