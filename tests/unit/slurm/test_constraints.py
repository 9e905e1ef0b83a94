"""Constraints of cluster files: what Slurm 22.05 takes with `sbatch --test-only`, and what is told of the rest."""

import pytest

from muster.backends.slurm.cluster_file import SLURM_CLUSTERS
from muster.backends.slurm.options import SlurmOptions, SubmitSettings
from muster.backends.slurm.script.constraints import constraint_problem, is_choice
from muster.backends.slurm.spec_support import cannot_honour
from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import Invalid
from muster.domain.specs import JobSpec
from muster.settings.cluster_kinds import ClusterKinds
from muster.wire.documents import Document, read_document
from muster.wire.specs import spec_from_document

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    "text",
    [
        "fast",
        "gpu=a100",
        "fast&a100",
        "a100|v100",
        "fast,a100",
        "a100*2",
        "a100*2&v100*1",
        "fast&(a100|v100)",
        "(a100&fast)*2&v100*1",
        "[rack1|rack2]",
        "[rack1|rack2]&fast",
        "([rack1|rack2])&fast",
        "[(knl&snc4)*4&haswell*1]",
        "[rack1]",
        "[rack1*2]",
        "[(a100&fast)|v100]",
        "[(a100|v100)*1&fast*1]",
        "a100*1|v100*2",
        "fast*1&[rack1|rack2]",
    ],
)
def test_what_slurm_takes_is_accepted(text: str) -> None:
    assert constraint_problem(text) == ""


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("fast|", "expected a feature after '|' at its end"),
        ("|fast", "expected a feature before '|' at position 1"),
        ("fast&&a100", "expected a feature before '&' at position 6"),
        ("fast&|a100", "expected a feature before '|' at position 6"),
        ("fast*", "expected the number of nodes after '*' at position 5, such as fast*2"),
        ("fast*0", "expected the number of nodes after '*' at position 5, such as fast*2"),
        ("fast*x", "expected the number of nodes after '*' at position 5, such as fast*2"),
        ("fast*2*3", "expected a feature, or several in parentheses, before '*3' at position 7"),
        ("*2", "expected a feature, or several in parentheses, before '*2' at position 1"),
        ("fast*2a100", "expected & or | before 'a100' at position 7"),
        ("(fast|a100", "'(' at position 1 is not closed"),
        ("fast)", "')' at position 5 closes nothing"),
        ("[fast|a100)", "')' at position 11 closes nothing"),
        ("()", "expected a feature before ')' at position 2"),
        ("fast(a100)", "expected & or | before '(' at position 5"),
        ("((a|b)&c)", "'(' at position 2 is inside of another one, which Slurm does not take"),
        ("[[a|b]]", "'[' at position 2 is inside of another one, which Slurm does not take"),
        ("(fast*1)", "'*1' at position 6 is inside of parentheses; Slurm takes it only after them"),
        ("!fast", "'!' at position 1: Slurm cannot ask for nodes without a feature"),
        ("v100&!fast", "'!' at position 6: Slurm cannot ask for nodes without a feature"),
        ("[a100*1|v100*2]", "'[a100*1|v100*2]' has counts, which Slurm takes in brackets only between &"),
        ("[a100*1|v100]&fast", "'[a100*1|v100]' has counts, which Slurm takes in brackets only between &"),
        ("[a100&v100]", "'[a100&v100]' joins features by &, which Slurm takes in brackets only with a count for each"),
        ("[a*1,b]", "'[a*1,b]' joins features by &, which Slurm takes in brackets only with a count for each"),
        ("[a|(b|c)&d]", "'[a|(b|c)&d]' joins features by & and by |, of which Slurm takes one kind in brackets"),
        ("[a|b]&[c|d]", "'[' at position 7 is the second one, and Slurm takes one pair of brackets"),
        ("", "expected a feature"),
    ],
)
def test_mistakes_are_told_with_their_place(text: str, problem: str) -> None:
    assert constraint_problem(text) == problem


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("constraint", 'constraint: "fast|"'),
        ("virtualClusters.gpu.constraint", 'virtualClusters: {gpu: {constraint: "(a100"}}'),
        ("options[0]", 'options: ["--constraint=fast"]'),
    ],
)
def test_file_with_such_a_mistake_is_refused(key: str, line: str) -> None:
    with pytest.raises(Invalid) as refused:
        ClusterKinds((SLURM_CLUSTERS,)).described(read_document(f"backend: slurm\n{line}\n"), "hpc")
    assert [problem.path for problem in refused.value.problems] == [key]


@pytest.mark.parametrize(
    ("text", "expected"), [("a|b", True), ("a&b", False), ("(a|b)&c", False), ("[a|b]", False), ("(a|b)|c", True)]
)
def test_choices(text: str, expected: bool) -> None:
    assert is_choice(text) is expected


def _with_a_feature(cluster: str) -> JobSpec:
    spec = {"name": "train", "command": "true", "cluster": cluster, "where": {"labels": {"fast": "*"}}}
    return spec_from_document(Document(spec))


@pytest.mark.parametrize(
    ("constraint", "is_refused"),
    [
        ("a100", False),
        ("a100|v100", False),
        ("[rack1|rack2]", False),
        ("a100*1&v100*1", False),
        ("a100*1|v100*2", True),
        ("(a100&ib)|v100", True),
    ],
)
def test_features_of_a_job_are_refused_where_slurm_has_no_expression_for_both(
    constraint: str, is_refused: bool
) -> None:
    options = SlurmOptions(virtual={"night": SubmitSettings(constraint=constraint)})
    cluster = PhysicalCluster("hpc", "slurm", options=options)

    assert list(cannot_honour(_with_a_feature("hpc"), cluster)) == []
    found = [problem.path for problem in cannot_honour(_with_a_feature("night"), cluster)]
    assert found == (["where.labels"] if is_refused else [])
