"""The options of a cluster file that Slurm refuses are named by their keys, and each set of them is tried once."""

import pytest

from muster.backends.slurm.examination import python_problems
from muster.backends.slurm.option_trials import Trial, trials
from muster.backends.slurm.options import SlurmOptions, SubmitSettings

pytestmark = pytest.mark.fast
BASE = SubmitSettings("main", account="lab", constraint="ib")


def test_each_set_of_options_is_tried_once() -> None:
    virtual = {"same": SubmitSettings(), "night": SubmitSettings(qos="night", options=("--nice=5",))}
    found = {one.cluster: one.options for one in trials(SlurmOptions(submit=BASE, virtual=virtual))}
    base = ["--partition=main", "--account=lab"]
    assert found == {
        "": [*base, "--constraint=ib"],
        "night": [*base, "--qos=night", "--nice=5", "--constraint=ib"],
    }


@pytest.mark.parametrize(
    ("own", "said", "key"),
    [
        (SubmitSettings(constraint="nvme"), "Invalid feature specification", "virtualClusters.night.constraint"),
        (SubmitSettings(qos="x"), "Invalid qos specification", "virtualClusters.night.qos"),
        (SubmitSettings(qos="x"), "Invalid feature specification", "constraint"),
        (SubmitSettings(reservation="x"), "Requested reservation is invalid", "virtualClusters.night.reservation"),
        (SubmitSettings(options=("--nic=1",)), "unrecognized option '--nic=1'", "virtualClusters.night.options"),
    ],
)
def test_what_slurm_refuses_is_named_by_its_key(own: SubmitSettings, said: str, key: str) -> None:
    trial = Trial("night", own.over(BASE), own)
    found = trial.refusal(f"sbatch: error: allocation failure: {said}\n")
    assert found.startswith(f"{key}: Slurm refuses a job with --partition=main --account=lab")
    assert found.endswith(said)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({"node": "n1", "python": "3.11.2"}, ""),
        ({"node": "n1", "python": "3.6.8"}, "python: /opt/python is Python 3.6.8 on n1, and 3.8 or newer is needed"),
        ({"node": "n1"}, "python: /opt/python cannot be run on n1; name one that all compute nodes have"),
    ],
)
def test_python_of_the_nodes_has_to_be_there_and_new_enough(found: dict[str, str], words: str) -> None:
    assert python_problems("/opt/python", found) == ([words] if words else [])
