"""Names of a cluster file that the accounting of Slurm does not know are told."""

import pytest

from muster.backends.slurm.answers.accounting_names import unknown_names
from muster.backends.slurm.options import SlurmOptions, SubmitSettings

pytestmark = pytest.mark.fast
OPTIONS = SlurmOptions(
    submit=SubmitSettings(account="Physics", qos="high"), virtual={"night": SubmitSettings(account="phisics")}
)


def test_each_is_told_with_its_key() -> None:
    assert list(unknown_names(OPTIONS, "account", "root\nphysics\n")) == [
        "virtualClusters.night.account: the accounting of Slurm does not know phisics"
    ]
    assert list(unknown_names(OPTIONS, "qos", "normal\n")) == ["qos: the accounting of Slurm does not know high"]


def test_nothing_is_told_if_no_name_is_known() -> None:
    assert list(unknown_names(OPTIONS, "qos", "\n")) == []
