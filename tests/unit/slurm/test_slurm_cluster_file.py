"""Cluster files of Slurm: where nodes reach the login node."""

import pytest

from muster.backends.slurm.cluster_file import SLURM_CLUSTERS
from muster.backends.slurm.options import SlurmOptions
from muster.domain.errors import Invalid
from muster.settings.cluster_kinds import ClusterKinds
from muster.wire.documents import read_document

pytestmark = pytest.mark.fast


def read(text: str) -> SlurmOptions:
    cluster = ClusterKinds((SLURM_CLUSTERS,)).described(read_document(f"backend: slurm\n{text}"), "hpc").cluster
    assert isinstance(cluster.options, SlurmOptions)
    return cluster.options


@pytest.mark.parametrize(
    ("value", "host", "port"),
    [
        ("login-ib", "login-ib", 0),
        ("10.0.0.5:7071", "10.0.0.5", 7071),
        ("{host: login-ib, port: 7071}", "login-ib", 7071),
        ("null", "", 0),
    ],
)
def test_address_for_nodes_is_a_host_with_or_without_a_port(value: str, host: str, port: int) -> None:
    options = read(f"relayAddress: {value}\n")
    assert (options.relay_host, options.relay_port) == (host, port)


@pytest.mark.parametrize("value", ["amy@login", "'login:70710'", "'a b'", "'a,b'", "[login]"])
def test_anything_else_is_refused(value: str) -> None:
    with pytest.raises(Invalid) as refused:
        read(f"relayAddress: {value}\n")
    assert all(problem.path.startswith("relayAddress") for problem in refused.value.problems)


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("sharedFolder", "sharedFolder: /shared/my folder"),
        ("sharedFolder", "sharedFolder: /shared/%u"),
        ("partition", 'partition: "a\\u0001"'),
        ("options[0]", "options: ['--nice=1 --uid=0']"),
        ("gpuModels.a b", "gpuModels: {a b: A100}"),
    ],
)
def test_what_slurm_would_read_otherwise_than_it_is_written_is_refused(key: str, line: str) -> None:
    with pytest.raises(Invalid) as refused:
        read(f"{line}\n")
    assert [problem.path for problem in refused.value.problems] == [key]
