"""Whatever JobSpec there is: its canonical wire form reads back as the same JobSpec."""

import json
import string

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.domain.resources import Resources
from muster.domain.specs import (
    Completion,
    Dependency,
    Framework,
    Input,
    JobSpec,
    Mount,
    Needed,
    Priority,
    Role,
    Runtime,
    Spread,
    Together,
    Where,
)
from muster.wire.spec_schema import spec_json_schema
from muster.wire.specs import read_spec, spec_to_wire
from muster.wire.written_specs import spec_as_written

pytestmark = pytest.mark.fast

_LETTERS = string.ascii_letters + string.digits
_names = st.text(_LETTERS, min_size=1, max_size=20)
_domains = st.text(string.ascii_lowercase, min_size=1, max_size=5).filter(lambda text: text != "requests")
_variables = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,10}", fullmatch=True)
_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20).filter(
    lambda text: "${params." not in text
)
_seconds = st.floats(0, 1e9, allow_subnormal=False)
_env = st.dictionaries(_variables, _text, max_size=3)
_gpus = st.integers(0, 16).map(lambda whole: (whole, 1000)) | st.integers(1, 999).map(lambda share: (1, share))
_resources = st.builds(
    lambda cpu_m, memory_bytes, gpus, models, devices: Resources(
        cpu_m, memory_bytes, gpus[0], models if gpus[0] else (), gpus[1], tuple(sorted(devices.items()))
    ),
    st.integers(0, 10**6),
    st.integers(0, 10**15),
    _gpus,
    st.lists(_names, max_size=2).map(tuple),
    st.dictionaries(st.builds("{}.example.com/{}".format, _domains, _names), st.integers(1, 1024), max_size=2),
)
_completions = st.builds(
    Completion,
    min_failed=st.none() | st.integers(1, 9),
    min_succeeded=st.none() | st.integers(1, 9),
)
_runtimes = st.sampled_from([Runtime(), Runtime(conda="/c"), Runtime(venv="v"), Runtime(image="i:1")])


_after = st.lists(
    st.builds(Dependency, _names.map(lambda name: f"after-{name}"), st.sampled_from(Needed)),
    max_size=3,
    unique_by=lambda needed: needed.job,
).map(tuple)
_wheres = st.builds(
    Where,
    nodes=st.lists(_names.map(lambda name: f"yes-{name}"), max_size=2).map(tuple),
    not_nodes=st.lists(_names.map(lambda name: f"no-{name}"), max_size=2).map(tuple),
    labels=st.dictionaries(_text, _text, max_size=2),
    spread=st.just(Spread.PACK),
    together=st.sampled_from(Together),
) | st.builds(Where, spread=st.just(Spread.APART), together=st.sampled_from([Together.ANYWHERE, Together.RACK]))


_inputs = st.lists(
    st.builds(Input, _names | _names.map(lambda name: f"{'a' * 64}/{name}"), _names.map(lambda name: f"data/{name}")),
    max_size=3,
    unique_by=lambda given: given.target,
).map(tuple)

# Two mounts at one target are no valid spec.
_mounts = st.lists(
    st.builds(Mount, _text, _text, st.booleans()),
    max_size=2,
    unique_by=lambda mount: tuple(part for part in mount.target.split("/") if part not in ("", ".")),
).map(tuple)


@st.composite
def _roles(draw: st.DrawFn) -> tuple[Role, ...]:
    names = draw(st.sampled_from([("worker",), ("ps", "worker"), ("chief", "worker"), ("str", "int", "worker")]))
    return tuple(
        Role(
            name,
            draw(st.integers(3, 5)),
            tuple(draw(st.lists(_text, min_size=1, max_size=3))),
            draw(_resources),
            draw(_env),
            draw(st.integers(0, 3)),
            draw(_completions),
            min_replicas=draw(st.none() | st.integers(1, 3)),
            max_replicas=draw(st.none() | st.integers(5, 9)),
        )
        for name in names
    )


# No two mounts may have one target, nor lie below each other or an input: no input's name has a space.
_mount_targets = st.builds("{}mounted {}".format, st.sampled_from(["", "./", "/"]), _text)
_mounts = st.lists(
    st.builds(Mount, _text, _mount_targets, st.booleans()),
    max_size=2,
    unique_by=lambda mount: mount.target.removeprefix("./").strip("/").split("/")[0],
).map(tuple)
_specs = st.builds(
    JobSpec,
    name=_names,
    roles=_roles(),
    cluster=st.none() | _names,
    framework=st.sampled_from(Framework),
    priority=st.sampled_from(Priority),
    time_limit_s=st.none() | _seconds,
    grace_s=_seconds,
    retry_max=st.integers(0, 100),
    env=_env,
    params=st.dictionaries(
        _variables,
        _text | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False),
        max_size=3,
    ),
    labels=st.dictionaries(_text, _text, max_size=3),
    description=_text,
    package=st.none() | _names,
    runtime=_runtimes,
    mounts=_mounts,
    inputs=_inputs,
    outputs=st.lists(_names.map(lambda name: f"{name}/*") | _names, max_size=3, unique=True).map(tuple),
    gloo=st.integers(0, 2),
    held=st.booleans(),
    after=_after,
    where=_wheres,
    preemptible=st.booleans(),
)


@settings(max_examples=60, deadline=None)
@given(_specs)
def test_a_spec_written_and_read_is_the_same_spec(spec: JobSpec) -> None:
    assert read_spec(json.dumps(spec_to_wire(spec), ensure_ascii=True)) == spec


@settings(max_examples=60, deadline=None)
@given(_specs)
def test_a_spec_as_its_author_would_write_it_is_the_same_spec(spec: JobSpec) -> None:
    assert read_spec(json.dumps(spec_as_written(spec), ensure_ascii=True)) == spec


_SCHEMA = jsonschema_rs.validator_for(spec_json_schema())


@settings(max_examples=60, deadline=None)
@given(_specs)
def test_the_schema_accepts_every_spec_in_its_canonical_form(spec: JobSpec) -> None:
    wire = {key: value for key, value in spec_to_wire(spec).items() if key != "params"}
    assert [str(error) for error in _SCHEMA.iter_errors(wire)] == []
