"""Virtual clusters around the engine: files that change under it, who is let in, what is refused and filled in."""

import pytest

from muster.domain.access import may_use
from muster.domain.accounts import User, UserRole
from muster.domain.errors import Conflict, Invalid, Unplaceable
from muster.domain.resources import Resources
from muster.domain.specs import Priority, Role, SecretUse
from muster.engine.requests.admission import admit, admit_all
from muster.ports.store import Change
from tests.parts.building import a_role, a_spec
from tests.parts.laboratory import Laboratory

pytestmark = pytest.mark.anyio


async def configure(lab: Laboratory, text: str) -> None:
    """Written, and taken over by the engine without anybody telling it."""
    before = lab.context.config.virtual
    (lab.clusters / "vcs.yaml").write_text(text)
    await lab.until(lambda: lab.context.config.virtual is not before)


async def add_user(lab: Laboratory, name: str, *groups: str, role: UserRole = UserRole.USER) -> User:
    user = User(name, role, 1.0, groups=groups)
    await lab.context.store.apply(Change(new_user=user))
    return user


async def test_a_job_goes_to_the_virtual_cluster_that_it_names(lab: Laboratory) -> None:
    await configure(lab, "name: vision\n")
    job_id = await lab.submit(a_spec(cluster="vision"))
    job = await lab.becomes(job_id, "Running")
    assert (job.cluster, job.vc, job.spec.cluster) == ("lab", "vision", "vision")


async def test_a_job_that_names_the_cluster_goes_to_the_default_one_if_there_is_one(lab: Laboratory) -> None:
    await configure(lab, "name: vision\n")
    plain = await admit(lab.context, a_spec(), "amy")
    assert (plain.cluster, plain.vc, plain.spec.cluster) == ("lab", "", "lab")
    await configure(lab, "name: vision\n---\nname: default\n")
    for name in (None, "lab"):
        job = await admit(lab.context, a_spec(cluster=name), "amy")
        assert (job.cluster, job.vc, job.spec.cluster) == ("lab", "default", "default")


async def test_an_unknown_cluster_is_told_with_those_that_one_may_use(lab: Laboratory) -> None:
    await configure(lab, "name: vision\n---\n{name: speech, users: [bo]}\n")
    await add_user(lab, "amy")
    with pytest.raises(Invalid) as refused:
        await admit(lab.context, a_spec(cluster="vison"), "amy")
    assert str(refused.value.problems[0]) == "cluster: there is no cluster 'vison' (known clusters: lab, vision)"


async def test_only_users_and_members_of_groups_are_let_in(lab: Laboratory) -> None:
    await configure(lab, "{name: vision, users: [amy], groups: [guests]}\n---\nname: open\n")
    people = {
        "amy": await add_user(lab, "amy"),
        "bo": await add_user(lab, "bo", "guests", "others"),
        "cy": await add_user(lab, "cy", role=UserRole.ADMIN),
        "di": await add_user(lab, "di", "others"),
    }
    vision = lab.context.config.virtual["vision"]
    assert [name for name, user in people.items() if may_use(vision, user)] == ["amy", "bo", "cy"]
    for name in ("amy", "bo", "cy"):
        assert (await admit(lab.context, a_spec(cluster="vision"), name)).vc == "vision"
    for hidden in ("vision", "nowhere"):
        with pytest.raises(Invalid, match=f"there is no cluster '{hidden}'") as refused:
            await admit(lab.context, a_spec(cluster=hidden), "di")
        assert [problem.hint for problem in refused.value.problems] == ["known clusters: lab, open"]


async def test_every_problem_of_a_job_is_told_at_once(lab: Laboratory) -> None:
    await configure(lab, "{name: vision, priorities: [low], defaults: {mounts: [{source: a, target: /b}]}}\n")
    with pytest.raises(Invalid) as refused:
        await admit(lab.context, a_spec(cluster="vision", preemptible=False, package="0" * 64), "amy")
    assert [problem.path for problem in refused.value.problems] == ["mounts", "priority", "preemptible", "package"]


async def test_a_cluster_that_is_not_there_is_told_together_with_everything_else(lab: Laboratory) -> None:
    spec = a_spec(cluster="nowhere", package="0" * 64, secrets=(SecretUse("wandb", "WANDB_API_KEY"),))
    with pytest.raises(Invalid, match="there is no cluster 'nowhere'") as refused:
        await admit(lab.context, spec, "amy")
    assert [problem.path for problem in refused.value.problems] == ["cluster", "package", "secrets[0].name"]


async def test_a_job_outside_the_virtual_clusters_must_be_ready_to_leave(lab: Laboratory) -> None:
    stubborn = a_spec(preemptible=False)
    assert not (await admit(lab.context, stubborn, "amy")).spec.preemptible
    await configure(lab, "name: vision\n")
    with pytest.raises(Invalid) as refused:
        await admit(lab.context, stubborn, "amy")
    assert refused.value.problems[0].path == "preemptible"


async def test_a_job_larger_than_max_is_refused_with_the_numbers(lab: Laboratory) -> None:
    await configure(lab, "{name: vision, max: {cpu: 2}}\n")
    message = "this job can never run on vision: vision may use 2 CPUs and would use 3"
    with pytest.raises(Unplaceable, match=message):
        await admit(lab.context, a_spec(a_role(cpu=3), cluster="vision"), "amy")


async def test_defaults_reach_the_task(lab: Laboratory) -> None:
    await configure(lab, "{name: vision, defaults: {env: {GREETING: hello, NAME: vc}, resources: {cpu: 3}}}\n")
    silent = Role("worker", 1, ("true",), Resources(250))
    job_id = await lab.submit(a_spec(silent, cluster="vision", env={"NAME": "job"}))
    await lab.becomes(job_id, "Running")
    request = lab.backend.tasks[lab.backend.of(job_id)[0]].request
    assert (request.env["GREETING"], request.env["NAME"], request.cpu_m) == ("hello", "job", 3000)


async def test_one_job_too_many_in_the_queue_is_refused(lab: Laboratory) -> None:
    await configure(lab, "{name: vision, limits: {queuedJobs: 3}, userLimits: {queuedJobs: 2}}\n")
    held = [a_spec(name=f"job-{number}", cluster="vision", held=True) for number in range(4)]
    await lab.submit(held[0])
    with pytest.raises(Conflict, match="amy has 1 jobs in it, 2 are allowed, 2 came"):
        await admit_all(lab.context, held[1:3], "amy")
    await lab.submit(held[1])
    with pytest.raises(Conflict, match="amy has 2 jobs in it, 2 are allowed, 1 came"):
        await lab.submit(held[2])
    assert len(await admit_all(lab.context, held[2:3], "bo")) == 1
    with pytest.raises(Conflict, match="there are 2 jobs in it, 3 are allowed, 2 came"):
        await admit_all(lab.context, held[2:], "bo")


async def test_jobs_that_run_are_not_in_the_queue(lab: Laboratory) -> None:
    await configure(lab, "{name: vision, limits: {queuedJobs: 1}}\n")
    for number in range(3):
        await lab.becomes(await lab.submit(a_spec(name=f"job-{number}", cluster="vision")), "Running")


async def test_a_broken_file_leaves_the_settings_in_force_and_says_why(lab: Laboratory) -> None:
    await configure(lab, "{name: vision, priorities: [low]}\n")
    sharing = lab.context.config
    (lab.clusters / "vcs.yaml").write_text("name: vision\npriorites: [high]\n")
    await lab.until(lambda: sharing.problems)
    assert str(sharing.problems[0]) == "vcs.yaml, line 2: priorites: unknown key (did you mean priorities?)"
    assert sharing.virtual["vision"].priorities == (Priority.LOW,)
    await configure(lab, "{name: vision, priorities: [high]}\n")
    assert sharing.problems == ()
    assert sharing.virtual["vision"].priorities == (Priority.HIGH,)


async def test_a_start_with_a_broken_file_goes_on_with_what_was_in_force_last(lab: Laboratory) -> None:
    await configure(lab, "{name: vision, priorities: [low]}\n")
    await lab.close()
    (lab.clusters / "vcs.yaml").write_text("name: vision\npriorites: [high]\n")
    (lab.clusters / "new.yaml").write_text("name: speech\n")
    await lab.open()
    sharing = lab.context.config
    assert [str(problem) for problem in sharing.problems] == [
        "vcs.yaml, line 2: priorites: unknown key (did you mean priorities?)",
        "vcs.yaml: its last valid version stays in effect until it is fixed",
    ]
    assert (list(sharing.virtual), sharing.virtual["vision"].priorities) == (["speech", "vision"], (Priority.LOW,))
    await lab.restart()
    assert sharing.virtual == lab.context.config.virtual
    await configure(lab, "{name: vision, priorities: [high]}\n")
    assert lab.context.config.problems == ()


async def test_a_file_that_never_was_right_is_left_out_of_a_start(lab: Laboratory) -> None:
    await lab.close()
    (lab.clusters / "vcs.yaml").write_text("nam: vision\n")
    await lab.open()
    assert [str(problem) for problem in lab.context.config.problems] == [
        "vcs.yaml, line 1: name: is required",
        "vcs.yaml, line 1: nam: unknown key (did you mean name?)",
        "vcs.yaml: is left out until it is fixed",
    ]
    await lab.becomes(await lab.submit(a_spec()), "Running")


async def test_a_start_goes_on_where_what_was_in_force_cannot_be_read_or_kept(lab: Laboratory) -> None:
    await configure(lab, "name: vision\n")
    kept = lab.folder / "clusters.kept.json"
    kept.write_text("{")
    await lab.restart()
    assert list(lab.context.config.virtual) == ["vision"]
    await lab.close()
    kept.unlink()
    kept.mkdir()
    await lab.open()
    assert list(lab.context.config.virtual) == ["vision"]


async def test_a_mistake_in_one_file_does_not_hold_up_another(lab: Laboratory) -> None:
    (lab.clusters / "wrong.yaml").write_text("name: [\n")
    await configure(lab, "name: vision\n")
    assert list(lab.context.config.virtual) == ["vision"]
    (lab.clusters / "greedy.yaml").write_text("{name: greedy, guaranteed: {cpu: 1000}}\n")
    await configure(lab, "name: speech\n")
    await lab.until(lambda: {"greedy.yaml", "wrong.yaml"} <= {problem.file for problem in lab.context.config.problems})
    assert list(lab.context.config.virtual) == ["speech"]


async def test_a_virtual_cluster_that_is_removed_is_gone(lab: Laboratory) -> None:
    await configure(lab, "name: vision\n")
    (lab.clusters / "vcs.yaml").unlink()
    await lab.until(lambda: not lab.context.config.virtual)
    with pytest.raises(Invalid, match="there is no cluster 'vision'"):
        await admit(lab.context, a_spec(cluster="vision"), "amy")


async def test_more_than_there_is_cannot_be_promised(lab: Laboratory) -> None:
    await configure(lab, "{name: vision, guaranteed: {cpu: 6}}\n")
    sharing = lab.context.config
    (lab.clusters / "vcs.yaml").write_text("{name: vision, guaranteed: {cpu: 6}}\n---\n{name: b, guaranteed: {cpu: 3}}")
    await lab.until(lambda: sharing.problems)
    assert "9" in sharing.problems[0].message
    assert "8" in sharing.problems[0].message
    assert list(sharing.virtual) == ["vision"]


async def test_a_promise_that_the_nodes_cannot_keep_is_told_when_they_are_known(lab: Laboratory) -> None:
    await lab.close()
    (lab.clusters / "vcs.yaml").write_text("{name: vision, guaranteed: {cpu: 9}}")
    await lab.open()
    sharing = lab.context.config
    assert list(sharing.virtual) == ["vision"]
    (problem,) = sharing.problems
    assert "9" in problem.message
    sharing.reload(lab.context.clusters)
    assert sharing.problems == (problem,)
