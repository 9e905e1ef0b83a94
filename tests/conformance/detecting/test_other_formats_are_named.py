"""Files that Muster does not read are named, with what would have to change, and in few words."""

from pathlib import Path

import pytest

from muster.domain.errors import Invalid
from muster.domain.jobs import JOB_STATES
from muster.wire.dialects.detecting import DIALECTS
from muster.wire.documents import read_document
from muster.wire.specs import read_source

pytestmark = pytest.mark.fast

OTHERS = {
    "a SkyPilot service": "service: {readiness_probe: /}\nresources: {accelerators: A100}\nrun: serve\n",
    "a GitHub workflow": "name: ci\non: push\njobs: {test: {runs-on: ubuntu-latest, steps: [{run: make}]}}\n",
    "a docker-compose file": "services: {web: {image: nginx}, db: {build: .}}\n",
    "a Determined experiment": "name: mnist\nentrypoint: python3 train.py\nsearcher: {name: single}\n",
    "a Ray job": "entrypoint: python train.py\nruntime_env: {pip: [torch]}\n",
    "a Ray cluster": "cluster_name: small\nprovider: {type: aws}\n",
    "an MLproject": "name: tutorial\nentry_points: {main: {command: python train.py}}\n",
    "a Vertex AI job": "workerPoolSpecs: [{machineSpec: {machineType: n1-standard-4}}]\n",
    "a SageMaker training job": '{"TrainingJobName": "x", "AlgorithmSpecification": {}}',
    "a SageMaker job": '{"ProcessingJobName": "x", "AppSpecification": {}}',
    "an AWS Batch job": '{"jobName": "x", "jobQueue": "q", "jobDefinition": "d:1"}',
    "a Google Cloud Batch job": "taskGroups: [{taskSpec: {runnables: []}}]\n",
    "a Databricks job": "name: x\ntasks: [{task_key: a, notebook_task: {}}]\n",
    "an Azure ML pipeline": "type: pipeline\njobs: {train: {type: command, command: python train.py}}\n",
    "a CWL workflow": "cwlVersion: v1.2\nclass: CommandLineTool\nbaseCommand: echo\n",
    "a Polyaxon file": "version: 1.1\nkind: component\nrun: {kind: job, container: {image: x}}\n",
    "a Prefect deployment": "prefect-version: 3.0\ndeployments: [{name: a}]\n",
    "a submission for slurmrestd": '{"script": "#!/bin/bash\\nsrun hostname", "job": {"tasks": 2}}',
    "the settings of a master/slaver task manager": '{"visible_folders": [], "socket_info": {}, "root": "/home"}',
    "a Nomad job": 'job "train" {\n  datacenters = ["dc1"]\n  group "g" {}\n}\n',
    "a submit file of HTCondor": "executable = train.sh\nrequest_gpus = 1\nqueue 3\n",
    "a DAG of Airflow": "from airflow import DAG\nwith DAG('a'):\n    pass\n",
    "an Azure ML job": (
        "$schema: https://azuremlschemas.azureedge.net/latest/commandJob.schema.json\n"
        "command: python train.py\ncompute: azureml:gpu\n"
    ),
    "a TorchX application": "name: trainer\nmacros: {}\nroles: [{name: trainer, image: x, entrypoint: python}]\n",
    "a Kubernetes Deployment (apps/v1)": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n",
    "a Kubernetes Workflow (argoproj.io/v1alpha1)": "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nspec: {}\n",
    "a Kubernetes RayJob (ray.io/v1)": "apiVersion: ray.io/v1\nkind: RayJob\nspec: {entrypoint: python x.py}\n",
    "a conda environment": "name: torch\nchannels: [conda-forge]\ndependencies: [python=3.12]\n",
    "a DVC pipeline": "stages: {train: {cmd: python train.py}}\n",
    "a GitLab pipeline": "stages: [test]\nunit: {script: [make test]}\n",
    "a dstack fleet": "type: fleet\nname: ours\nnodes: 2\n",
    "a dstack service": "type: service\nname: llm\nport: 8000\ncommands: [serve]\n",
    "an OpenPAI job of protocol 3": "protocolVersion: 3\nname: x\n",
    "a sweep of Weights & Biases": "program: train.py\nmethod: bayes\n",
    "a configuration of Accelerate": "compute_environment: LOCAL_MACHINE\nnum_processes: 2\n",
}


@pytest.mark.parametrize("what", OTHERS)
def test_format_is_named_once_with_what_to_do_instead(what: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_source(OTHERS[what])

    assert refused.value.message == f"this looks like {what}, which Muster does not read"
    assert refused.value.problems == ()
    assert refused.value.hint[0].isupper() or refused.value.hint.startswith("`")
    assert "Muster takes its own specs" in refused.value.hint


def test_job_of_nomad_is_known_in_json_too() -> None:
    with pytest.raises(Invalid, match="this looks like a Nomad job"):
        read_source('{"Job": {"ID": "x", "TaskGroups": []}}')


@pytest.mark.parametrize(("value", "shown"), [(None, "is null"), (True, "is true")])
def test_wrong_value_is_shown_as_it_is_written_in_yaml(value: object, shown: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_source("name: a\ncommand: x\n", overrides={"where.spread": value})

    assert [problem.message for problem in refused.value.problems] == [shown]


def test_list_of_objects_is_to_be_taken_apart() -> None:
    with pytest.raises(Invalid) as refused:
        read_source("apiVersion: v1\nkind: List\nitems: [{apiVersion: batch/v1, kind: Job, metadata: {name: a}}]\n")

    assert refused.value.hint.startswith("Take the items out, one job per document")


def test_job_of_azure_is_known_by_its_compute_too() -> None:
    with pytest.raises(Invalid, match="this looks like an Azure ML job"):
        read_source("command: python train.py\ncode: src\ncompute: azureml:gpu-cluster\n")


def test_document_further_down_in_a_file_is_named_with_its_line() -> None:
    with pytest.raises(Invalid, match=r"line 3: this looks like a docker-compose file"):
        read_source("\n\nservices: {web: {image: nginx}}\n")


def test_document_of_nothing_known_is_refused_in_one_sentence() -> None:
    with pytest.raises(Invalid, match=r"this is no job: none of its keys \(a, b, c\) is one of a job"):
        read_source("a: 1\nb: 2\nc: 3\n")


def test_keys_of_a_spec_are_listed_once_however_many_are_unknown() -> None:
    with pytest.raises(Invalid) as refused:
        read_source("name: x\ncommand: y\nbanana: 1\nfish: 2\nzebra: 3\n")

    hints = [problem.hint for problem in refused.value.problems]
    assert len(hints) == 3
    assert sum(hint.startswith("known keys:") for hint in hints) == 1


@pytest.mark.parametrize(
    "text",
    [
        "name: x\ncommand: a\nservices: {web: {image: nginx}}\n",
        "name: x\nroles: {worker: {command: a}}\nentry_points: {}\n",
    ],
)
def test_muster_spec_with_a_foreign_key_stays_a_muster_spec(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_source(text)

    assert [problem.message for problem in refused.value.problems] == ["unknown key"]


@pytest.mark.parametrize("dialect", [one for one in DIALECTS if one.states], ids=lambda one: one.name)
def test_every_state_of_a_job_has_a_word_of_the_other_system(dialect: object) -> None:
    assert list(getattr(dialect, "states")) == list(JOB_STATES)  # noqa: B009


def test_every_own_file_of_these_suites_is_read_by_its_dialect() -> None:
    for case in Path(__file__).parents[1].glob("*/cases/*.yaml"):
        if case.name.endswith(".expected.yaml"):
            continue
        data = read_document(case.read_text()).data
        assert any(not one.is_script and one.recognizes(data) for one in DIALECTS), case


def test_guide_has_the_same_words_for_states() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "guides" / "other-formats.md").read_text()
    shown = [one for one in DIALECTS if one.states]

    for state in JOB_STATES:
        assert f"| {' | '.join([state, *(one.states[state] for one in shown)])} |\n" in guide
