"""The operator does not work with less than the rights that `deploy/v1/operator.yaml` gives it: for each of them there
is something that it then cannot do, and its log says by name which right is missing.

Rights to write are taken away one by one: each in a namespace of its own, where the account has all others. The rights
to read are those of whole caches, which need them independently of each other, so one operator misses several.
"""

import contextlib
import re
import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.parts.kube import Kube, KubeNamespace, Refused, new_namespace
from tests.parts.operator_account import Account, Right, granted
from tests.parts.operator_process import OperatorProcess, running_operator
from tests.parts.paddle_jobs import SUCCEEDS, WAITS, install_definition, paddle_job, paddle_role
from tests.parts.server import polls
from tests.parts.volcano import API, install_volcano

pytestmark = pytest.mark.kube
WITHIN_S = 120
PADDLE, KUBERNETES = "batch.paddlepaddle.org", "scheduling.k8s.io"
READS = ("list", "watch")
LEASES: list[Right] = [("coordination.k8s.io", "leases", verb) for verb in ("get", "create", "update")]
_DENIED = re.compile(r'cannot (\w+) resource "([^"]+)" in API group "([^"]*)"')


def named(text: str) -> set[Right]:
    """The rights that a log says are missing. Its lines are JSON, but for an error at the very end."""
    return {(group, resource, verb) for verb, resource, group in _DENIED.findall(text.replace('\\"', '"'))}


def is_of_jobs(right: Right) -> bool:
    """Whether every operator needs the right, also one without gang scheduling and leader election."""
    group, resource, _ = right
    return group == PADDLE or (group == "" and resource != "nodes")


def job(**spec: Any) -> dict[str, Any]:
    return paddle_job("job", **{"worker": paddle_role(1, SUCCEEDS), **spec})


def scaled_down(namespace: KubeNamespace) -> None:
    namespace.create(job(worker=paddle_role(2, WAITS)))
    namespace.await_object("ConfigMap", "job", lambda one: True, WITHIN_S)
    namespace.patch("PaddleJob", "job", {"spec": {"worker": {"replicas": 1}}})


def created(**spec: Any) -> Callable[[KubeNamespace], object]:
    return lambda namespace: namespace.create(job(**spec))


USES: dict[Right, Callable[[KubeNamespace], object]] = {
    (PADDLE, "paddlejobs", "patch"): created(intranet="Host"),
    (PADDLE, "paddlejobs", "delete"): created(ttlSecondsAfterFinished=0, cleanPodPolicy="Never"),
    (PADDLE, "paddlejobs/status", "patch"): created(),
    ("", "pods", "create"): created(),
    ("", "pods", "patch"): created(),
    ("", "pods", "delete"): scaled_down,
    ("", "pods", "deletecollection"): created(),
    ("", "services", "create"): created(intranet="Service"),
    ("", "services", "delete"): created(intranet="Service", cleanPodPolicy="Always"),
    ("", "configmaps", "create"): created(),
    ("", "configmaps", "patch"): scaled_down,
    ("", "events", "create"): created(),
}
"""For each right to write what needs it."""


@dataclass
class Places:
    """Namespaces that are removed at the end, and the accounts in the first of them."""

    kube: Kube
    folder: Path
    made: list[KubeNamespace] = field(default_factory=list)
    accounts: list[Account] = field(default_factory=list)

    def new(self, count: int) -> list[KubeNamespace]:
        with ThreadPoolExecutor(4) as workers:
            names = [f"less-{secrets.token_hex(3)}" for _ in range(count)]
            found = list(workers.map(lambda name: new_namespace(self.kube, name), names))
        self.made += found
        return found

    def account(self, name: str) -> tuple[Account, Path]:
        account = Account(self.made[0], name)
        self.accounts.append(account)
        return account, account.create(self.folder)

    def remove(self) -> None:
        for account in self.accounts:
            account.remove_cluster_rights()
        for namespace in self.made:
            namespace.remove()


@pytest.fixture
def places(kube: Kube, tmp_path: Path) -> Iterator[Places]:
    install_definition(kube)
    install_volcano(kube)
    found = Places(kube, tmp_path)
    found.new(1)
    yield found
    found.remove()


def await_named(operator: OperatorProcess, *rights: Right) -> None:
    for _ in polls(WITHIN_S):
        if set(rights) <= named(operator.said):
            return
    raise AssertionError(f"not named: {set(rights) - named(operator.said)}\n{operator.said[-4000:]}")


def test_each_right_to_write_is_needed_and_named(places: Places) -> None:
    """One operator looks at all namespaces; it can write in its own only. Without the right to list priority classes,
    the gang guard does without them."""
    rights = {right for right in granted() if is_of_jobs(right)}
    assert set(USES) == {right for right in rights if right[2] not in READS}
    account, kubeconfig = places.account("writes")
    reads = {right for right in granted() if right[2] in READS}
    priorities: Right = (KUBERNETES, "priorityclasses", "list")
    account.may(reads - {priorities})
    namespaces = dict(zip(USES, places.new(len(USES)), strict=True))
    for right, namespace in namespaces.items():
        account.may(rights - {right}, namespace)
    with running_operator(kubeconfig, places.folder / "writes.log") as operator:
        for right, use in USES.items():
            use(namespaces[right])
        await_named(operator, priorities)
        for _ in polls(WITHIN_S):
            found = {right for right, one in namespaces.items() if right in named(lines_about(operator.said, one.name))}
            if found == set(USES):
                break
        for right, namespace in namespaces.items():
            assert named(lines_about(operator.said, namespace.name)) == {right}, "no more than this right is missing"


def lines_about(log: str, namespace: str) -> str:
    return "\n".join(line for line in log.splitlines() if namespace in line)


def test_each_right_to_read_is_needed_and_named(places: Places) -> None:
    home = f"--namespace={places.made[0].name}"
    of_jobs = {right for right in granted() if is_of_jobs(right)}
    of_guard = {right for right in granted() if right[1] in ("nodes", "priorityclasses")}
    lists, watches = ({right for right in of_jobs | of_guard if right[2] == verb} for verb in READS)
    nothing, nothing_given = places.account("nothing")
    listing, listing_given = places.account("listing")
    jobs_only, jobs_only_given = places.account("jobs-only")
    nothing.may(())
    listing.may(lists)
    jobs_only.may(of_jobs)
    with contextlib.ExitStack() as running:
        blind, stale, unguarded = (
            running.enter_context(running_operator(given, places.folder / f"{name}.log", home))
            for name, given in (
                ("nothing", nothing_given),
                ("listing", listing_given),
                ("jobs-only", jobs_only_given),
            )
        )
        await_named(blind, *(right for right in lists if is_of_jobs(right)))
        await_named(stale, *watches)
        await_named(unguarded, ("", "nodes", "list"))
        unguarded.await_log("the gang guard is off")


def test_each_right_about_the_lease_is_needed_and_named(places: Places) -> None:
    home = places.made[0]
    account, kubeconfig = places.account("leader")
    arguments = (f"--namespace={home.name}", "--leader-elect", f"--leader-elect-namespace={home.name}")
    with running_operator(kubeconfig, places.folder / "leader.log", *arguments) as operator:
        for count, right in enumerate(LEASES):
            account.may(LEASES[:count], home)
            await_named(operator, right)
        for _ in polls(WITHIN_S):
            if not operator.is_running:
                break
        assert "was not renewed in time" in operator.said


@pytest.mark.parametrize(("kind", "api"), [("volcano", API), ("kubernetes", "scheduling.k8s.io/v1alpha2")])
def test_each_right_about_pod_groups_is_needed_and_named(places: Places, kind: str, api: str) -> None:
    home, group = places.made[0], api.partition("/")[0]
    account, kubeconfig = places.account("groups")
    of_jobs = {right for right in granted() if is_of_jobs(right)}
    of_groups = {right for right in granted() if right[:2] == (group, "podgroups")}
    account.may(of_jobs)
    arguments = (f"--namespace={home.name}", f"--scheduling={kind}")
    with running_operator(kubeconfig, places.folder / "groups.log", *arguments) as operator:
        await_named(operator, (group, "podgroups", "list"))
        account.may(of_jobs | (of_groups - {(group, "podgroups", "watch"), (group, "podgroups", "create")}))
        await_named(operator, (group, "podgroups", "watch"))
        home.create(job(worker=paddle_role(2, WAITS)))
        await_named(operator, (group, "podgroups", "create"))
        for verb, change in (("patch", {"worker": {"replicas": 3}}), ("delete", {"suspend": True})):
            right = (group, "podgroups", verb)
            if right in of_groups:
                account.may(of_jobs | of_groups - {right})
                await_group(home, api)
                home.patch("PaddleJob", "job", {"spec": change})
                await_named(operator, right)


def await_group(namespace: KubeNamespace, api: str) -> None:
    for _ in polls(WITHIN_S):
        with contextlib.suppress(Refused):
            namespace.kube.request("GET", f"/apis/{api}/namespaces/{namespace.name}/podgroups/job")
            return
    raise AssertionError("the PodGroup is missing")


def test_every_right_of_the_file_is_in_one_of_these_tests() -> None:
    reads = {right for right in granted() if right[2] in READS and right[1] != "podgroups"}
    groups = {right for right in granted() if right[1] == "podgroups"}
    assert granted() == set(USES) | reads | set(LEASES) | groups
