"""Nothing that a job file contains can add an option of sbatch or a line of shell to the batch script of its job."""

import re
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from muster.backends.slurm.options import SlurmOptions, SubmitSettings
from muster.backends.slurm.script.batch_script import batch_script, shown_script
from muster.backends.slurm.script.option_values import directive
from muster.backends.slurm.script.sbatch_options import GpuTypes
from muster.backends.slurm.spec_support import cannot_honour
from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import Invalid, Rejected
from muster.domain.specs import JobSpec, Where
from muster.wire.documents import Document
from muster.wire.specs import spec_from_document
from tests.unit.slurm.test_batch_script import PLACE, launch_of

pytestmark = pytest.mark.fast
CLUSTER = PhysicalCluster("hpc", "slurm", options=SlurmOptions())
HOSTILE = [
    "n1 --partition=urgent",
    "n1\t--array=0-2",
    "n1\ntouch /x",
    "n1\r\ntouch /x",
    "n1\x0btouch",
    "n1\u2028touch",
    "n1\u00a0--uid=0",
    "n1\x00",
    "n1\x1b[0m",
    "n1 # rest",
    "n1#",
    '"n1',
    "'n1'",
    "n1\\",
    "--uid=0",
    "-w",
    "/etc/passwd",
    "./nodes",
    "n[1-4]",
    "n1,n2",
    "v100|a100",
    "v100&a100",
    "!v100",
    "[v100*2]",
    "(v100)",
    "v100*2",
    "a=b=c",
    "$(touch /x)",
    "`touch /x`",
    "n1;touch /x",
    "%u",
    "MUSTER_ORDER",
    "\nMUSTER_ORDER\ntouch /x\n",
    "\n#SBATCH --uid=0",
    "",
]
GRAMMAR = [value for value in HOSTILE if value not in ("MUSTER_ORDER",)]
FIELDS: dict[str, Any] = {
    "name": lambda value: {"name": value},
    "where.notNodes": lambda value: {"where": {"notNodes": [value]}},
    "where.labels of any value": lambda value: {"where": {"labels": {value: "*"}}},
    "where.labels, key": lambda value: {"where": {"labels": {value: "x"}}},
    "where.labels, value": lambda value: {"where": {"labels": {"x": value}}},
    "gpuType": lambda value: {"resources": {"gpu": 1, "gpuType": value}},
    "env, name": lambda value: {"env": {value: "x"}},
    "env, value": lambda value: {"env": {"X": value}},
    "command": lambda value: {"command": value},
    "words of the command": lambda value: {"command": ["echo", value]},
    "labels": lambda value: {"labels": {value: value}},
    "params": lambda value: {"params": {"x": value}, "command": "echo ${params.x}"},
    "outputs": lambda value: {"outputs": [value]},
    "runtime.venv": lambda value: {"runtime": {"venv": value}},
    "runtime.conda": lambda value: {"runtime": {"conda": f"/{value}"}},
    "setup": lambda value: {"setup": value},
    "cluster": lambda value: {"cluster": value},
}


def read(more: dict[str, Any]) -> JobSpec:
    return spec_from_document(Document({"name": "train", "command": "true", **more}))


def shapes(spec: JobSpec) -> list[list[str]]:
    """The lines of the script, and of what people are shown of it, without the values of options and the order."""
    launch = launch_of(*spec.roles, where=spec.where, env=spec.env, outputs=spec.outputs, runtime=spec.runtime)
    launch = replace(launch, gang=replace(launch.gang, spec=replace(launch.gang.spec, name=spec.name)))
    options = SlurmOptions()
    scripts = [make(launch, options, PLACE, GpuTypes(options)) for make in (batch_script, shown_script)]
    return [[_shape(line) for line in _outside(script)] for script in scripts]


def _outside(script: str) -> list[str]:
    before, _, rest = script.partition("<<'MUSTER_ORDER'\n")
    order, end, after = rest.partition("\nMUSTER_ORDER\n")
    assert end
    assert "#SBATCH" not in order or order.startswith("{")
    return re.split(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]", before + after)


def _shape(line: str) -> str:
    if not line.startswith("#SBATCH "):
        return line
    assert len(line.split()) == 2, line
    return line.partition("=")[0]


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize("field", FIELDS)
def test_a_value_is_refused_or_leaves_the_lines_as_they_are(field: str, value: str) -> None:
    try:
        spec, harmless = read(FIELDS[field](value)), read(FIELDS[field]("x"))
    except Invalid:
        return
    if not list(cannot_honour(spec, CLUSTER)):
        assert shapes(spec) == shapes(harmless)


@pytest.mark.parametrize("value", GRAMMAR)
def test_what_is_no_name_of_a_node_is_refused(value: str) -> None:
    spec = replace(read({}), where=Where(not_nodes=("n1", value)))
    (problem,) = cannot_honour(spec, CLUSTER)
    assert problem.path == "where.notNodes"
    assert problem.hint


@pytest.mark.parametrize("value", [value for value in GRAMMAR if value not in ("a=b=c",)])
def test_what_is_no_feature_is_refused(value: str) -> None:
    for labels in ({value: "*"}, {value: "x"}, {"x": value}, {"x=y": value}):
        (problem,) = cannot_honour(replace(read({}), where=Where(labels=labels)), CLUSTER)
        assert problem.path == "where.labels"
        assert problem.hint


@pytest.mark.parametrize("value", ["V100 --partition=urgent", "V100\n", "V100:4,gpu:A100", "", "-x", 'V"', "V100#"])
def test_what_is_no_model_of_a_gpu_is_refused(value: str) -> None:
    (problem,) = cannot_honour(read({"resources": {"gpu": 1, "gpuType": [value]}}), CLUSTER)
    assert problem.path == "roles.worker.resources.gpuType"


@pytest.mark.parametrize("value", [value for value in HOSTILE if value])
def test_a_spec_that_nobody_checked_adds_no_line(value: str) -> None:
    for where, harmless in (
        (Where(not_nodes=(value,)), Where(not_nodes=("x",))),
        (Where(labels={value: "*"}), Where(labels={"x": "*"})),
        (Where(labels={"x": value}), Where(labels={"x": "x"})),
    ):
        with suppress(Rejected):
            assert shapes(replace(read({}), where=where)) == shapes(replace(read({}), where=harmless))


@pytest.mark.parametrize("option", ["--exclude=n1 --uid=0", "--exclude=n1\n", "--exclude=a#", "--x='", "-w", "", "n1"])
def test_what_is_more_than_one_option_is_never_written(option: str) -> None:
    with pytest.raises(Rejected, match="one option of sbatch"):
        directive(option)


@pytest.mark.parametrize(
    "more",
    [
        {"where": {"notNodes": ["gpu-07.lab.example", "n_1"]}},
        {"where": {"labels": {"nvme": "*", "rack": "a-1", "gpu=v100": "*", "nvidia.com/gpu.product": "A100"}}},
        {"resources": {"gpu": 1, "gpuType": ["NVIDIA A100-SXM4", "tesla_v100"]}},
    ],
)
def test_names_that_clusters_have_are_taken(more: dict[str, Any]) -> None:
    spec = read(more)
    assert not list(cannot_honour(spec, CLUSTER))
    assert shapes(spec)


def test_a_model_that_the_cluster_file_knows_may_have_any_name() -> None:
    named = {"rtx3090": "GeForce RTX 3090 (24 GB)"}
    spec = read({"resources": {"gpu": 1, "gpuType": "GeForce RTX 3090 (24 GB)"}})
    for options in (SlurmOptions(gpu_models=named), SlurmOptions(gpu_features=named)):
        assert not list(cannot_honour(spec, replace(CLUSTER, options=options)))
    assert list(cannot_honour(spec, CLUSTER))


def test_a_feature_of_gpus_is_refused_beside_a_constraint_to_which_slurm_adds_nothing() -> None:
    settings = SubmitSettings(constraint="(a&b)|[c|d]")
    options = SlurmOptions(submit=settings, gpu_features={"volta": "V100"})
    spec = read({"resources": {"gpu": 1, "gpuType": "V100"}})
    (problem,) = cannot_honour(spec, replace(CLUSTER, options=options))
    assert problem.path == "roles.worker.resources.gpuType"
    assert not list(cannot_honour(spec, replace(CLUSTER, options=replace(options, gpu_features={}))))
