"""The job spec as people write it: every form, every default, and every problem at once."""

import json
from pathlib import Path

import pytest

from muster.domain.errors import Invalid, Problem
from muster.domain.resources import Resources
from muster.domain.specs import (
    Completion,
    Dependency,
    Framework,
    Input,
    JobSpec,
    Mode,
    Mount,
    Needed,
    Priority,
    Role,
    Runtime,
    Spread,
    Together,
    Where,
)
from muster.wire.specs import read_spec, spec_to_wire
from tests.conftest import Golden

pytestmark = pytest.mark.fast
HERE = Path(__file__).parent
NO_COMMAND = "or `roles` with a command each, or `runtime.image` with one of its own"
NO_ENTRY_POINT = "or `runtime.image` with an entry point of its own"

DESIGN = """
name: wide-and-deep
cluster: lab
framework: paddle
priority: high
timeLimit: 2h
grace: 500ms
retry: {max: 3}
env: {EPOCHS: 3, DEBUG: true}
params: {lr: 0.1, opt: adam}
labels: {team: ads}
package: ./src
runtime: {conda: /opt/py310}
mounts: [{source: data/criteo, target: /data, readOnly: true}]
gloo: 1
roles:
  worker:
    replicas: 2
    command: [python, train.py, --lr, "${params.lr}"]
    resources: {cpu: 1.5, memory: 2Gi, gpu: 1, gpuType: RTX3090}
    env: {OPT: "${params.opt}-${params.lr}"}
  ps: {replicas: 2, command: python train.py, resources: {cpu: 500m, memory: 512Mi}, ports: 1}
"""


def test_the_roles_form_is_read_field_by_field_with_ps_first() -> None:
    assert read_spec(DESIGN) == JobSpec(
        name="wide-and-deep",
        cluster="lab",
        framework=Framework.PADDLE,
        priority=Priority.HIGH,
        time_limit_s=7200.0,
        grace_s=0.5,
        retry_max=3,
        env={"EPOCHS": "3", "DEBUG": "true"},
        params={"lr": 0.1, "opt": "adam"},
        labels={"team": "ads"},
        package="./src",
        runtime=Runtime(conda="/opt/py310"),
        mounts=(Mount("data/criteo", "/data", read_only=True),),
        gloo=1,
        roles=(
            Role("ps", 2, ("/bin/sh", "-c", "python train.py"), Resources(500, 512 << 20), ports=1, is_line=True),
            Role(
                "worker",
                2,
                ("python", "train.py", "--lr", "0.1"),
                Resources(1500, 2 << 30, 1, ("RTX3090",)),
                {"OPT": "adam-0.1"},
                completion=Completion(1, 2),
                command_template=("python", "train.py", "--lr", "${params.lr}"),
                env_template={"OPT": "${params.opt}-${params.lr}"},
            ),
        ),
    )


def test_the_flat_form_is_one_worker_role() -> None:
    spec = read_spec("name: a\ncommand: echo hi\nreplicas: 3\nports: 2\nresources: {gpu: 2, gpuType: [A100, H100]}")
    assert spec.roles == (
        Role("worker", 3, ("/bin/sh", "-c", "echo hi"), Resources(250, 0, 2, ("A100", "H100")), ports=2, is_line=True),
    )
    assert spec.mode is Mode.COLLECTIVE


@pytest.mark.parametrize(
    ("written", "gpus", "share"),
    [("0.5", 1, 500), ("0.001", 1, 1), ("0.999", 1, 999), ("'0.25'", 1, 250), ("1.0", 1, 1000), ("2", 2, 1000)],
)
def test_gpus_are_whole_or_a_part_of_one(written: str, gpus: int, share: int) -> None:
    resources = read_spec(f"name: a\ncommand: x\nresources: {{gpu: {written}}}").roles[0].resources
    assert (resources.gpus, resources.gpu_share) == (gpus, share)


@pytest.mark.parametrize("written", ["1.5", "0.0005", "-1", "-0.5", "1e-9", "1025", ".inf", "true", "null", "half"])
def test_other_numbers_of_gpus_are_refused_with_what_is_accepted(written: str) -> None:
    (problem,) = _problems(f"name: a\ncommand: x\nresources: {{gpu: {written}}}")
    assert problem.path == "resources.gpu"
    assert "a whole number of GPUs, or a part of one such as 0.5" in problem.hint


@pytest.mark.parametrize("text", ["replicas: 4\nmin: 2\nmax: 8\n{0}", "roles: {{worker: {{{0}, {1}}}}}"])
def test_bounds_make_a_role_elastic_in_both_forms(text: str) -> None:
    role = read_spec("name: a\n" + text.format("command: x", "replicas: 4, min: 2, max: 8")).role("worker")
    assert (role.min_replicas, role.replicas, role.max_replicas, role.is_elastic) == (2, 4, 8, True)


def test_one_bound_is_enough_and_none_is_needed() -> None:
    spec = read_spec("name: a\nroles: {x: {command: x, replicas: 2, min: 1}, y: {command: y, max: 3}, z: {command: z}}")
    bounds = [(role.min_replicas, role.max_replicas) for role in spec.roles]
    assert bounds == [(1, None), (None, 3), (None, None)]


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ("prep", [Dependency("prep")]),
        ("[prep, other]", [Dependency("prep"), Dependency("other")]),
        ("{job: prep, on: ended}", [Dependency("prep", Needed.ENDED)]),
        ("[{job: prep}, {job: b, on: ended}, c]", [Dependency("prep"), Dependency("b", Needed.ENDED), Dependency("c")]),
        ("[]", []),
    ],
)
def test_dependencies_in_every_form(after: str, expected: list[Dependency]) -> None:
    assert list(read_spec(f"name: a\ncommand: x\nafter: {after}").after) == expected


def test_where_is_read_field_by_field() -> None:
    text = "{nodes: [n1, n2], notNodes: n3, labels: {tier: 1, ssd: true}, spread: apart, together: switch}"
    assert read_spec(f"name: a\ncommand: x\nwhere: {text}").where == Where(
        ("n1", "n2"), ("n3",), {"tier": "1", "ssd": "true"}, Spread.APART, Together.SWITCH
    )


def test_a_job_may_be_stopped_for_others_unless_it_says_no() -> None:
    assert read_spec("name: a\ncommand: x").preemptible
    assert not read_spec("name: a\ncommand: x\npreemptible: false").preemptible


def test_json_is_as_good_as_yaml() -> None:
    data = {"name": "a", "command": ["true"], "env": {"X": "1"}}
    assert read_spec(json.dumps(data)) == read_spec("name: a\ncommand: ['true']\nenv: {X: 1}")


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("command: x", Mode.SINGLE),
        ("command: x\nreplicas: 2", Mode.COLLECTIVE),
        ("roles: {ps: {command: x}, worker: {command: x}}", Mode.PS),
        ("roles: {ps: {command: x, replicas: 0}, worker: {command: x}}", Mode.SINGLE),
        ("roles: {chief: {command: x}, worker: {command: x}}", Mode.COLLECTIVE),
    ],
)
def test_the_mode_follows_from_the_roles(text: str, mode: Mode) -> None:
    assert read_spec(f"name: a\n{text}").mode is mode


@pytest.mark.parametrize(
    ("role", "has_ps", "expected"),
    [
        ("{replicas: 4}", False, Completion(1, None)),
        ("{replicas: 4}", True, Completion(1, 4)),
        ("{replicas: 4, minFailed: 2}", True, Completion(2, 4)),
        ("{replicas: 4, minFailed: -1}", True, Completion(None, 4)),
        ("{replicas: 4, minFailed: 0, minSucceeded: 0}", False, Completion(1, None)),
        ("{replicas: 4, minSucceeded: 0}", True, Completion(1, 4)),
        ("{replicas: 4, minSucceeded: 1}", True, Completion(1, 1)),
        ("{replicas: 4, minSucceeded: -1}", True, Completion(1, None)),
        ("{replicas: 4, completion: {minFailed: 3, minSucceeded: 2}}", False, Completion(3, 2)),
        ("{replicas: 4, completion: {minFailed: -1}}", True, Completion(None, 4)),
        ("{replicas: 4, completion: {minFailed: 3}, minFailed: 2}", False, Completion(2, None)),
    ],
)
def test_completion_of_a_worker_role(role: str, has_ps: bool, expected: Completion) -> None:
    ps = "ps: {command: x}, " if has_ps else ""
    spec = read_spec(f"name: a\nroles: {{{ps}worker: {role[:-1]}, command: x}}}}")
    assert spec.role("worker").completion == expected


def test_a_ps_role_never_ends_the_job_well_by_itself() -> None:
    spec = read_spec("name: a\nroles: {ps: {command: x}, worker: {command: x}}")
    assert spec.role("ps").completion == Completion(1, None)


def test_workers_beside_a_ps_role_without_tasks_are_no_ps_job() -> None:
    spec = read_spec("name: a\nroles: {ps: {command: x, replicas: 0}, worker: {command: x, replicas: 2}}")
    assert spec.role("worker").completion == Completion(1, None)


def test_overrides_and_params_are_laid_over_the_file() -> None:
    spec = read_spec(
        DESIGN,
        overrides={"roles.worker.replicas": 4, "timeLimit": "90m", "labels.stage": "dev", "runtime.conda": "/c"},
        params={"lr": 0.01},
    )
    assert spec.role("worker").replicas == 4
    assert spec.role("worker").completion.min_succeeded == 4
    assert spec.time_limit_s == 5400.0
    assert spec.labels == {"team": "ads", "stage": "dev"}
    assert spec.runtime.conda == "/c"
    assert spec.role("worker").command[-1] == "0.01"
    assert spec.params == {"lr": 0.01, "opt": "adam"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("lrr", Problem("params.lrr", "the job has no such param", "did you mean lr?")),
        ("batch", Problem("params.batch", "the job has no such param", "known params: lr, opt")),
    ],
)
def test_a_param_that_the_file_neither_declares_nor_uses_is_refused(given: str, expected: Problem) -> None:
    with pytest.raises(Invalid) as refused:
        read_spec(DESIGN, params={given: 1, "lr": 0.2})
    assert list(refused.value.problems) == [expected]


def test_a_param_for_a_file_without_any_is_refused_together_with_its_other_problems() -> None:
    with pytest.raises(Invalid) as refused:
        read_spec("name: a\ncomand: x", params={"lr": 1})
    assert Problem("params.lr", "the job has no such param", "known params: none") in refused.value.problems
    assert len(refused.value.problems) == 3


@pytest.mark.parametrize(
    "text",
    [
        "name: a\ncommand: x ${params.lr}",
        "name: a\ncommand: x\nenv: {RATE: '${params.lr}'}",
        "name: a\ncommand: x --lr $MUSTER_PARAM_LR",
        "name: a\ncommand: x\nparams: {lr: 1}",
    ],
)
def test_a_param_that_the_file_uses_or_declares_can_be_given(text: str) -> None:
    assert read_spec(text, params={"lr": 0.5}).params == {"lr": 0.5}


def test_a_param_can_be_declared_by_an_override() -> None:
    assert read_spec("name: a\ncommand: x", overrides={"params.lr": 1}, params={"lr": 2}).params == {"lr": 2}


def test_an_override_may_add_what_was_not_there() -> None:
    assert read_spec("name: a\ncommand: x", overrides={"retry.max": 2}).retry_max == 2


def test_an_override_inside_a_plain_value_is_refused() -> None:
    with pytest.raises(Invalid, match=r"cannot set name\.first"):
        read_spec("name: a\ncommand: x", overrides={"name.first": 1})


def _problems(text: str) -> list[Problem]:
    with pytest.raises(Invalid) as refused:
        read_spec(text)
    return list(refused.value.problems)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name: a\ncommand: x ${params.lr}", Problem("command", "there is no param 'lr'", "known params: none", 2)),
        (
            "name: a\nparams: {rate: 1}\ncommand:\n- x\n- ${params.rat}",
            Problem("command", "there is no param 'rat'", "did you mean rate?", 3),
        ),
        ("name: a", Problem("command", "is required", NO_COMMAND, 1)),
        (
            "name: a\nreplicas: 2\nroles: {worker: {command: x}}",
            Problem("replicas", "cannot be used together with `roles`", "move it to roles.worker.replicas", 2),
        ),
        (
            "name: a\nroles: {ps: {command: x}}",
            Problem("roles", "has `ps` but no `worker`", "a parameter-server job needs both", 2),
        ),
        (
            "name: a\nroles: {worker: {command: x, replicas: 0}}",
            Problem("roles", "ask for no task at all", "give a role at least one replica", 2),
        ),
        ("name: a\ncommand: x\nreplicas: 0", Problem("replicas", "must be at least 1", "", 3)),
        (
            "name: a\ncommand: x\nruntime:\n  venv: /v\n  image: i",
            Problem("runtime.image", "stands beside runtime.venv", "choose one", 5),
        ),
        ("name: a\ncommand: x\nnmae: b", Problem("nmae", "unknown key", "did you mean name?", 3)),
        (
            "name: a\ncommand: x\nresources:\n  gpus: 1",
            Problem("resources.gpus", "unknown key", "did you mean gpu?", 4),
        ),
        ("name: a\ncommand: x\nlabels: {²: []}", Problem("labels.²", "is []", "expected text", 3)),
        (
            "name: a\ncommand: x\nparams: {lr: .inf}",
            Problem("params.lr", "input should be a finite number", "got inf", 3),
        ),
        ("name: a\nroles:\n  str: {}", Problem("roles.str.command", "is required", NO_ENTRY_POINT, 3)),
        (
            "name: a\nroles:\n  resources: {command: x, cpu: 1}",
            Problem(
                "roles.resources.cpu",
                "unknown key",
                "did you mean resources.cpu?",
                3,
            ),
        ),
        (
            "name: a\ncommand: x\nreplicas: 4\nmin: 5",
            Problem("min", "is 5 and replicas is 4", "replicas must lie between min and max", 4),
        ),
        (
            "name: a\nroles:\n  worker: {command: x, replicas: '9', max: 8}",
            Problem("roles.worker.max", "is 8 and replicas is 9", "replicas must lie between min and max", 3),
        ),
        ("name: a\ncommand: x\nmin: 0", Problem("min", "input should be greater than or equal to 1", "got 0", 3)),
        (
            "name: a\nmax: 3\nroles: {worker: {command: x}}",
            Problem("max", "cannot be used together with `roles`", "move it to roles.worker.max", 2),
        ),
        ("name: a\ncommand: x\nafter: a", Problem("after", "a job cannot wait for itself", "name another job", 3)),
        (
            "name: a\ncommand: x\nafter:\n- b\n- {job: b, on: ended}",
            Problem("after[1].job", "names b again", "once is enough", 5),
        ),
        (
            "name: a\ncommand: x\nafter: [" + ",".join(f"j{place}" for place in range(101)) + "]",
            Problem("after", "names 101 jobs", "at most 100", 3),
        ),
        (
            "name: a\ncommand: x\nafter:\n- {job: b, on: never}",
            Problem("after[0].on", "is 'never'", "one of 'succeeded' or 'ended'", 4),
        ),
        (
            "name: a\ncommand: x\nafter: {job: b, on: never}",
            Problem("after.on", "is 'never'", "one of 'succeeded' or 'ended'", 3),
        ),
        (
            "name: a\ncommand: x\nafter: [{job: b, onn: ended}]",
            Problem("after[0].onn", "unknown key", "did you mean on?", 3),
        ),
        ("name: a\ncommand: x\nafter: [[b]]", Problem("after[0]", "is ['b']", "a mapping with job, on", 3)),
        ("name: a\ncommand: x\nwhere: {node: n1}", Problem("where.node", "unknown key", "did you mean nodes?", 3)),
        (
            "name: a\ncommand: x\nwhere: {nodes: ''}",
            Problem("where.nodes", "string should have at least 1 character", "got ''", 3),
        ),
        (
            "name: a\ncommand: x\nwhere: {together: room}",
            Problem("where.together", "is 'room'", "one of 'rack', 'switch' or 'node'", 3),
        ),
        (
            "name: a\ncommand: x\nwhere:\n  nodes: [n1, n2]\n  notNodes: n2",
            Problem("where.notNodes", "names n2, which where.nodes asks for", "take it out of one of them", 5),
        ),
        (
            "name: a\ncommand: x\nreplicas: 2\nwhere: {spread: apart, together: node}",
            Problem(
                "where.together",
                "is node, and 2 tasks are to lie apart",
                "choose `together: rack` or `spread: pack`",
                4,
            ),
        ),
        (
            "name: a\nroles: {x: {command: x}, y: {command: y, replicas: 3, min: 2}}\nwhere: {spread: apart, nodes: n}",
            Problem(
                "where.nodes",
                "names 1 for 3 tasks that are to lie apart",
                "name more nodes or choose `spread: pack`",
                3,
            ),
        ),
    ],
)
def test_one_mistake_is_one_problem_with_path_line_and_hint(text: str, expected: Problem) -> None:
    assert _problems(text) == [expected]


@pytest.mark.parametrize(
    "text",
    ["replicas: 1\nwhere: {spread: apart, together: node}", "replicas: 3\nmin: 1\nwhere: {spread: apart, nodes: n}"],
)
def test_a_gang_that_may_be_of_one_task_can_lie_apart_anywhere(text: str) -> None:
    assert read_spec(f"name: a\ncommand: x\n{text}").where.spread is Spread.APART


def test_every_problem_of_a_very_bad_spec_is_told_at_once(golden: Golden) -> None:
    problems = _problems((HERE / "very_bad.yaml").read_text())
    golden(HERE / "very_bad.problems.txt", "".join(f"{problem}\n" for problem in problems))


@pytest.mark.parametrize("text", ["[]", "just words", "5", ""])
def test_what_is_no_mapping_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="a job spec is a mapping"):
        read_spec(text)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("apiVersion: apps/v1\nkind: Deployment", "a Kubernetes Deployment"),
        ("protocolVersion: 1\nname: x", "an OpenPAI job of protocol 1"),
    ],
)
def test_foreign_documents_that_no_dialect_reads_are_named(text: str, what: str) -> None:
    with pytest.raises(Invalid, match=what):
        read_spec(text)


@pytest.mark.parametrize("value", [".inf", ".nan", "-1", "1e400", "9" * 400 + "s", "200y", "1" * 40])
@pytest.mark.parametrize("key", ["timeLimit", "grace"])
def test_durations_that_no_timer_holds_are_refused(key: str, value: str) -> None:
    assert [problem.path for problem in _problems(f"name: a\ncommand: x\n{key}: {value}")] == [key]


@pytest.mark.parametrize("value", [".inf", "-1", "1" * 400, "1" * 400 + "m", "1e400", "true"])
@pytest.mark.parametrize("key", ["cpu", "memory"])
def test_amounts_that_no_machine_has_are_refused(key: str, value: str) -> None:
    problems = _problems(f"name: a\ncommand: x\nresources: {{{key}: {value}}}")
    assert [problem.path for problem in problems] == [f"resources.{key}"]


@pytest.mark.parametrize("text", ['command: "a\\0b"', 'command: ["a", "b\\0"]', 'command: "true"\nenv: {A: "x\\0"}'])
def test_what_no_process_can_be_given_is_refused(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_spec(f"name: a\n{text}\n")
    assert "NUL" in refused.value.problems[0].hint


def test_inputs_and_outputs_are_written_short_or_long() -> None:
    spec = read_spec("name: a\ncommand: x\ninputs: ./data/train\noutputs: ./model/\n")
    assert (spec.inputs, spec.outputs) == ((Input("./data/train", "train"),), ("model/",))
    digest = "a" * 64
    spec = read_spec(f"name: a\ncommand: x\ninputs: [{{source: {digest}/rows.csv, target: ./in//rows/}}]\n")
    assert spec.inputs == (Input(f"{digest}/rows.csv", "in/rows"),)
    assert (spec.inputs[0].digest, spec.inputs[0].member) == (digest, "rows.csv")
    assert spec.digests == (digest,)


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("inputs: [a, b/a]", "inputs[1].target"),
        ("inputs: [{source: a, target: d}, {source: b, target: d/e}]", "inputs[1].target"),
        ("inputs: ..", "inputs.target"),
        ("mounts: [{source: data, target: in}, {source: envs, target: ./in/}]", "mounts[1].target"),
        ("mounts: [{source: data, target: in}, {source: envs, target: in/envs}]", "mounts[1].target"),
        ("mounts: [{source: data, target: /in}, {source: envs, target: /in/}]", "mounts[1].target"),
        ("inputs: ./in\nmounts: [{source: data, target: in}]", "mounts[0].target"),
        ("inputs: {source: a, target: ../b}", "inputs.target"),
        ("inputs: {source: a, target: /b}", "inputs.target"),
        ("outputs: [/etc/passwd]", "outputs[0]"),
        ("outputs: [model, a/../../b]", "outputs[1]"),
        ("outputs: [.]", "outputs[0]"),
    ],
)
def test_inputs_and_outputs_stay_in_the_working_directory(line: str, path: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_spec(f"name: a\ncommand: x\n{line}\n")
    assert [problem.path for problem in refused.value.problems] == [path]


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ("secrets: [{name: T, fil: tok}]", "secrets[0].fil: unknown key (did you mean file?)"),
        ("secrets: [{name: T, zzz: tok}]", "secrets[0].zzz: unknown key (known keys: name, env, file)"),
        ("secrets: [TOKEN]", "secrets[0]: is 'TOKEN' (a mapping with name, env, file)"),
        ("inputs: [{sorce: x}]", "inputs[0].sorce: unknown key (did you mean source?)"),
        ("inputs: [{pth: x}]", "inputs[0].pth: unknown key (known keys: source, target)"),
        ("after: [{jbo: x}]", "after[0].jbo: unknown key (did you mean job?)"),
        ("mounts: [{sorce: x, target: y}]", "mounts[0].sorce: unknown key (did you mean source?)"),
        ("where: {zzz: 1}", "where.zzz: unknown key (known keys: nodes, notNodes, labels, spread, together)"),
        (
            "roles: {env: {command: x, completion: {zzz: 1}}}",
            "roles.env.completion.zzz: unknown key (known keys: minFailed, minSucceeded)",
        ),
        (
            "roles: {resources: {command: x, replica: 1}}",
            "roles.resources.replica: unknown key (did you mean replicas?)",
        ),
    ],
)
def test_an_unknown_key_is_compared_with_the_keys_of_its_part(part: str, said: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_spec(f"name: j\n{'' if part.startswith('roles') else 'command: x'}\n{part}\n")
    assert [str(problem).partition(": ")[2] for problem in refused.value.problems if said in str(problem)] == [said]


@pytest.mark.parametrize("text", ["name: a", "name: a\nroles: {worker: {replicas: 2}, ps: {command: serve}}"])
def test_a_task_without_a_command_runs_the_entry_point_of_its_image(text: str) -> None:
    spec = read_spec(f"{text}\nruntime: {{image: 'trainer:1'}}")
    assert spec.role("worker").command == ()
    assert read_spec(json.dumps(spec_to_wire(spec))) == spec
