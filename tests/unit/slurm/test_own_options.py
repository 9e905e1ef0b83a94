"""Options of sbatch that a cluster file may not name are refused however sbatch lets them be written."""

import pytest

from muster.backends.slurm.script.own_options import option_problem
from muster.domain.errors import Invalid
from tests.unit.slurm.test_slurm_cluster_file import read

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    "option",
    [
        *(
            "--array=1-2",
            "--arra=1-2",
            "--outp=/tmp/x",
            "--err=/tmp/x",
            "--requ",
            "--wra=id",
            "--ntask=3",
            "--open=truncate",
        ),
        *("--test-only", "--test", "--parsable", "--pars", "--wait", "--wai", "--help", "--usage", "--us", "--version"),
        *("--quiet", "--verb", "--export=ALL", "--expo=ALL", "--export-file=/tmp/x", "--export-f=/tmp/x", "--extern"),
        *("--cluster=other", "--clusters=other", "--constraint=a", "--constr=a"),
        *("-a1-2", "-o/tmp/x", "-Ho/tmp/x", "-W", "-h", "-V"),
    ],
)
@pytest.mark.parametrize("place", ["", "virtualClusters."])
def test_it_is_refused_with_its_place(option: str, place: str) -> None:
    line = f"options: ['{option}']"
    with pytest.raises(Invalid) as refused:
        read(f"virtualClusters:\n  team:\n    {line}\n" if place else f"{line}\n")
    assert [problem.path for problem in refused.value.problems] == [
        f"{place}team.options[0]" if place else "options[0]"
    ]


@pytest.mark.parametrize(
    "option",
    [
        *("--exclusive", "--nice=100", "--ntasks-per-node=2", "--switches=1", "--mem-per-cpu=1G", "--wait-all-nodes=1"),
        *("--excl", "--no-requeue", "--hint=compute_bound", "--hold", "--time=60", "--site-plugin=fast"),
    ],
)
def test_other_options_are_taken(option: str) -> None:
    assert read(f"options: ['{option}']\n").submit.options == (option,)


def test_reason_names_the_whole_option() -> None:
    assert option_problem("arra") == "sbatch may take it for --array: this option is Muster's own"
    assert option_problem("test-only") == "sbatch submits no job with it"
