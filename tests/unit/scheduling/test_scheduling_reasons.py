"""What those who wait are told, in order and with numbers, and when they will start."""

from dataclasses import replace

import pytest

from muster.domain.jobs import Queued
from muster.domain.nodes import NodeState
from muster.domain.reasons import Reason
from muster.domain.specs import Priority, Role, Spread, Where
from muster.domain.virtual_clusters import Limits, OrderPolicy
from muster.scheduling.allocations.usage_views import StartForecast
from muster.scheduling.demand import demand_of
from tests.parts.building import GIB, a_job, a_node, a_role
from tests.unit.scheduling.clusters import (
    a_cluster,
    a_demand,
    a_gpu_node,
    a_vc,
    codes,
    gpus,
    message,
    queue,
    started,
)

pytestmark = pytest.mark.fast


def test_reasons_have_their_numbers() -> None:
    state = a_cluster(a_node("n1", 8, 32 * GIB, "A100", "A100"))
    queue(state, a_demand(1, a_role(cpu=6, memory=20 * GIB, gpus=1)))
    cases = {
        2: (a_role(cpu=4), "no-free-cpu", "needs 4 CPU; 2 free now"),
        3: (a_role(cpu=0.5, memory=16 * GIB), "no-free-memory", "needs 16.0 GiB memory; 12.0 GiB free now"),
        4: (
            a_role(replicas=2, cpu=0.5, gpus=1, models=("A100",)),
            "no-free-gpu",
            "needs 2 GPUs of model A100 for 2 tasks together; 1 free now",
        ),
    }
    for number, (role, code, words) in cases.items():
        queue(state, a_demand(number, role))
        reason = state.reason(f"j{number}")
        assert reason is not None
        assert (reason.code, reason.message) == (code, words)
        assert reason.numbers["wanted"]
        state.unqueued(f"j{number}")


def test_cards_that_are_out_of_service_are_named_and_may_come_back() -> None:
    whole = a_gpu_node("n1", 2)
    broken = replace(whole.capacity.devices[1], out_of_service="3 memory errors")
    node = replace(whole, capacity=replace(whole.capacity, devices=(whole.capacity.devices[0], broken)))
    state = a_cluster(node.in_service())
    assert state.never_fits(a_demand(1, gpus(2))) is None  # nor is such a job refused

    queue(state, a_demand(1, gpus(2)))
    reason = state.reason("j1")
    assert reason is not None
    assert (reason.code, reason.message) == ("no-free-gpu", "needs 2 GPUs; 1 free now; 1 more is out of service")
    assert reason.numbers["out_of_service"] == 1
    assert "muster describe node/NAME" in reason.change

    state.node_changed(whole.in_service())
    assert started(state.cycle(200.0)) == ["j1"]


def test_figures_of_a_reason_are_all_that_its_sentence_says() -> None:
    away = replace(a_gpu_node("n2", 2), state=NodeState.UNREACHABLE)
    held = replace(a_gpu_node("n3", 2), state=NodeState.CORDONED)
    state = a_cluster(a_gpu_node("n1", 2), away, held)
    queue(state, a_demand(1, gpus(2, 2)))
    reason = state.reason("j1")
    assert reason is not None
    told = "needs 4 GPUs for 2 tasks together; 2 free now; 1 node is cordoned, 1 node is unreachable"
    assert (reason.code, reason.message) == ("no-free-gpu", told)
    figures = {key: reason.numbers.get(key) for key in ("needs", "free", "gang", "cordoned", "unreachable", "joining")}
    assert figures == {"needs": "4", "free": "2", "gang": 2, "cordoned": 1, "unreachable": 1, "joining": None}


def test_tasks_that_need_a_node_each_are_told_how_many_there_are() -> None:
    cordoned = replace(a_node("n3"), state=NodeState.CORDONED)
    state = a_cluster(a_node("n1"), a_node("n2"), cordoned)
    queue(state, a_demand(1, a_role(replicas=3, cpu=0.1), where=Where(spread=Spread.APART)))
    reason = state.reason("j1")
    assert reason is not None
    assert (reason.code, reason.message) == (
        "no-node",
        "its 3 tasks need a node each, and 2 are usable now; 1 node is cordoned",
    )


def test_gpus_that_are_free_but_apart_are_counted_by_node() -> None:
    state = a_cluster(*(a_gpu_node(f"n{number}", 4) for number in range(3)))
    for number in range(3):
        queue(state, a_demand(number, gpus(2), where=Where(nodes=(f"n{number}",))))
    queue(state, a_demand(5, gpus(4)))
    reason = state.reason("j5")
    assert reason is not None
    assert reason.code == "fragmented"
    assert reason.message == "needs 4 GPUs; 6 free now on 3 nodes, but not 4 GPUs on one node"
    assert (reason.numbers["nodes"], reason.numbers["on_one"]) == (3, "4 GPUs")


def test_a_part_of_a_card_that_is_nowhere_left_is_told_as_fragmented() -> None:
    state = a_cluster(a_gpu_node("n1", 2))
    queue(state, a_demand(1, gpus(0.7)), a_demand(2, gpus(0.7)), a_demand(3, gpus(0.5)))
    assert message(state, "j3") == "needs 0.5 GPUs; 0.6 free now on 1 node, but not 0.5 GPUs on one node"


def test_a_model_that_no_ready_node_has_is_named() -> None:
    state = a_cluster(a_gpu_node("n1", 4, "V100"), replace(a_gpu_node("n2", 4, "A100"), state=NodeState.UNREACHABLE))
    assert state.never_fits(a_demand(1, gpus(1, 1, "A100"))) is None
    queue(state, a_demand(1, gpus(1, 1, "A100")))
    assert message(state, "j1") == "needs 1 GPU of model A100; 0 free now; 1 node is unreachable"


def test_nodes_that_are_asked_for_and_not_there_are_named() -> None:
    state = a_cluster(a_gpu_node("n1", 4))
    queue(state, a_demand(1, gpus(1), where=Where(nodes=("n7",), labels={"disk": "fast"})))
    assert message(state, "j1") == "no ready node is named n7 and has disk=fast"


def test_jobs_of_one_kind_are_told_how_many_are_ahead() -> None:
    state = a_cluster(a_node("n1", 1))
    queue(state, *(a_demand(number, a_role()) for number in range(1, 6)))
    assert codes(state, "j5") == ["no-free-cpu", "behind"]
    assert state.reasons("j5", 100.0)[1].message == "waits behind job-2, 3 ahead of it in the queue"
    assert state.reason("j1") is None


def test_a_head_that_lets_nobody_pass_is_named() -> None:
    state = a_cluster(a_node("n1", 4), vcs=[a_vc("v", policy=OrderPolicy.FIFO)])
    queue(state, a_demand(1, a_role(cpu=2), vc="v"))
    assert started(queue(state, a_demand(2, a_role(cpu=4), vc="v"), a_demand(3, a_role(cpu=1), vc="v"))) == []
    assert message(state, "j3") == "waits behind job-2"
    state.released("j1")
    assert started(state.cycle(101.0)) == ["j2"]


def test_a_job_that_waits_for_gpus_does_not_stop_cpu_jobs() -> None:
    state = a_cluster(a_gpu_node("n1", 1), vcs=[a_vc("v", policy=OrderPolicy.FIFO)])
    queue(state, a_demand(1, gpus(1), vc="v"))
    plan = queue(state, a_demand(2, gpus(1), vc="v"), a_demand(3, a_role(), vc="v"), a_demand(4, gpus(1), vc="v"))
    assert started(plan) == ["j3"]
    assert [codes(state, job)[0] for job in ("j2", "j4")] == ["no-free-gpu", "no-free-gpu"]


def test_what_is_reserved_is_told_with_for_whom_and_when() -> None:
    state = a_cluster(a_gpu_node("n1", 4), vcs=[a_vc("v", policy=OrderPolicy.FIFO)])
    queue(state, a_demand(1, gpus(2), vc="v", time_limit_s=50.0))
    queue(state, a_demand(2, gpus(4), vc="v"), a_demand(3, gpus(1), vc="v"))
    assert codes(state, "j2") == ["no-free-gpu"]
    reserved = next(reason for reason in state.reasons("j3", 100.0) if reason.code == "reserved")
    assert reserved.message == "what is free is reserved for job-2"
    assert (reserved.numbers["for"], reserved.numbers["at"]) == ("job-2", 150.0)


def test_reasons_come_in_order_a_limit_first() -> None:
    state = a_cluster(a_gpu_node("n1", 2), vcs=[a_vc("v", limits=Limits(running_jobs=1))])
    queue(state, a_demand(1, gpus(1), vc="v"), a_demand(2, gpus(1), vc="v"), a_demand(3, gpus(1), vc="v"))
    assert codes(state, "j3") == ["limit", "behind"]


def test_a_dependency_is_the_only_reason_and_keeps_nobody_else() -> None:
    state = a_cluster(a_node("n1", 1))
    blocked = Reason("dependency", "waits until prep has succeeded")
    assert started(queue(state, a_demand(1, a_role(), blocked=blocked), a_demand(2, a_role()))) == ["j2"]
    assert state.reasons("j1", 100.0) == (blocked,)
    state.released("j2")
    assert started(state.cycle(101.0)) == []
    assert started(queue(state, a_demand(1, a_role()), at=102.0)) == ["j1"]


def test_a_job_that_backs_off_lets_others_pass_and_says_when_to_look_again() -> None:
    state = a_cluster(a_node("n1", 1))
    later = [a_demand(1, a_role(), not_before=130.0), a_demand(2, a_role(), not_before=150.0)]
    plan = queue(state, *later, a_demand(3, a_role()))
    assert started(plan) == ["j3"]
    assert plan.wake_at == 130.0
    assert state.reasons("j1", 100.0)[0].message == "waits 30 s more before it is tried again"
    state.released("j3")
    assert started(state.cycle(130.0)) == ["j1"]


def test_a_queued_jobs_back_off_is_in_its_demand() -> None:
    assert demand_of(a_job(state=Queued(1.0, not_before=9.0))).not_before == 9.0


def test_nodes_that_are_away_count_for_what_could_run_but_not_for_what_starts() -> None:
    state = a_cluster(a_node("n1", 8, state=NodeState.UNREACHABLE))
    assert state.never_fits(a_demand(1, a_role(cpu=8))) is None
    queue(state, a_demand(1, a_role(cpu=8)))
    assert message(state, "j1") == "no node is ready: 1 node is unreachable (n1)"
    state.node_changed(a_node("n1", 8))
    assert started(state.cycle(100.0)) == ["j1"]


def test_nodes_that_were_never_reached_are_named_although_nothing_is_known_of_them() -> None:
    state = a_cluster(*(a_node(f"n{place}", 8, state=NodeState.UNREACHABLE) for place in range(1, 6)))
    queue(state, a_demand(1, a_role(), where=Where(labels={"containers": "podman"})))
    assert message(state, "j1") == "no node is ready: 5 nodes are unreachable (n1, n2, n3 and 2 more)"


def test_a_cluster_without_nodes_waits_for_one() -> None:
    state = a_cluster()
    reason = state.never_fits(a_demand(1, a_role()))
    assert reason is not None
    assert reason.code == "no-node"
    queue(state, a_demand(1, a_role()))
    assert codes(state, "j1") == ["no-node"]


# What can never run


@pytest.mark.parametrize(
    ("roles", "words"),
    [
        (
            (a_role(cpu=64),),
            "one worker task asks for 64 CPU, and no node has that; the largest that could run: "
            "8 CPU, 32.0 GiB memory, 2 A100; 8 CPU, 32.0 GiB memory, no GPU",
        ),
        (
            (a_role(gpus=1, models=("H100",)),),
            "one worker task asks for 1 GPU of model H100, and no node has one: the cluster has A100",
        ),
        (
            (a_role(replicas=3, gpus=1),),
            "its 3 tasks must run together and ask for 3 GPUs, but the whole cluster has 2; the largest that could "
            "run: 8 CPU, 32.0 GiB memory, 2 A100; 8 CPU, 32.0 GiB memory, no GPU on one node",
        ),
        (
            (a_role(replicas=3, memory=30 * GIB),),
            "its 3 tasks must run together and ask for 90.0 GiB memory, but the whole cluster has 64.0 GiB; the "
            "largest that could run: 8 CPU, 32.0 GiB memory, 2 A100; 8 CPU, 32.0 GiB memory, no GPU on one node",
        ),
        (
            (a_role(replicas=3, cpu=5),),
            "its 3 tasks must run together and ask for 15 CPU, but the whole cluster has 16, and not 5 CPU on one node "
            "for each; the largest that could run: 8 CPU, 32.0 GiB memory, 2 A100; 8 CPU, 32.0 GiB memory, no GPU on "
            "one node",
        ),
    ],
)
def test_what_can_never_run_is_told_the_largest_that_could(roles: tuple[Role, ...], words: str) -> None:
    state = a_cluster(a_node("n1", 8, 32 * GIB, "A100", "A100"), a_node("n2", 8))
    reason = state.never_fits(a_demand(1, *roles))
    assert reason is not None
    assert (reason.code, reason.message) == ("never", words)


@pytest.mark.parametrize(
    ("role", "advice"),
    [
        (a_role(gpus=4), "ask for less"),
        (a_role(replicas=2, gpus=4), "ask for less per task"),
        (a_role(replicas=3, gpus=1), "ask for fewer replicas or less per task"),
    ],
)
def test_what_can_never_run_is_advised_only_what_would_help(role: Role, advice: str) -> None:
    reason = a_cluster(a_node("n1", 8, 32 * GIB, "A100", "A100")).never_fits(a_demand(1, role))
    assert reason is not None
    assert reason.change == advice


def test_an_elastic_gang_can_run_if_its_smallest_size_can() -> None:
    state = a_cluster(a_gpu_node("n1", 4))
    assert state.never_fits(a_demand(1, gpus(1, 8, least=4))) is None
    assert state.never_fits(a_demand(2, gpus(1, 8, least=5))) is not None


def test_what_runs_now_does_not_make_a_job_impossible() -> None:
    state = a_cluster(a_node("n1", 2))
    queue(state, a_demand(1, a_role(cpu=2)))
    assert state.never_fits(a_demand(2, a_role(cpu=2))) is None


def test_nothing_is_impossible_before_a_node_has_said_what_it_has() -> None:
    state = a_cluster(a_node("n1", 0, 0, state=NodeState.JOINING))
    assert state.never_fits(a_demand(1, a_role(cpu=64))) is None


# When it starts


def test_an_estimate_goes_by_time_limits_where_nothing_was_learnt() -> None:
    state = a_cluster(a_gpu_node("n1", 2))
    running = [a_demand(number, gpus(1), time_limit_s=limit) for number, limit in ((1, 60.0), (2, 90.0))]
    queue(state, *running, a_demand(3, gpus(2)), a_demand(4, gpus(2)))
    assert state.estimate("j3", 100.0) == StartForecast(190.0, 190.0)
    assert state.estimate("j1", 100.0) is None
    assert started(state.cycle(101.0)) == []


def test_an_estimate_goes_by_how_long_such_jobs_ran() -> None:
    state = a_cluster(a_gpu_node("n1", 1))
    for number in range(5):
        state.learnt(a_demand(number, gpus(1)), 300.0)
    queue(state, a_demand(11, gpus(1)), a_demand(12, gpus(1)), a_demand(13, gpus(1)))
    assert state.estimate("j12", 100.0) == StartForecast(400.0, None)
    assert state.estimate("j13", 100.0) == StartForecast(700.0, None)


def test_an_estimate_is_a_range_from_the_usual_run_time_to_the_longest() -> None:
    state = a_cluster(a_gpu_node("n1", 1))
    for number in range(20):
        state.learnt(a_demand(number, gpus(1)), 300.0 if number < 15 else 3000.0)
    queue(state, a_demand(31, gpus(1)), a_demand(32, gpus(1)))
    found = state.estimate("j32", 100.0)
    assert found is not None
    assert found.likely == pytest.approx(400.0)
    assert found.latest == pytest.approx(3100.0, rel=0.2)


def test_an_estimate_ends_with_what_is_known_and_never_slides_on() -> None:
    """A job that has run longer than every similar one, or has none and no limit, may end at any time."""
    state = a_cluster(a_gpu_node("n1", 1))
    queue(state, a_demand(1, gpus(1)), a_demand(2, gpus(1)))
    assert state.estimate("j2", 160.0) is None
    assert state.estimate("j2", 5000.0) is None
    for number in range(11, 31):
        state.learnt(a_demand(number, gpus(1)), 300.0)
    assert state.estimate("j2", 160.0) is not None
    assert state.estimate("j2", 5000.0) is None


def test_a_job_of_which_nothing_is_known_does_not_hide_what_is_known_of_another() -> None:
    state = a_cluster(a_gpu_node("n1", 2))
    queue(state, a_demand(1, gpus(1)), a_demand(2, gpus(1), time_limit_s=90.0), a_demand(3, gpus(1)))
    assert state.estimate("j3", 100.0) == StartForecast(190.0, 190.0)
    queue(state, a_demand(4, gpus(2)))
    assert state.estimate("j4", 100.0) is None


def test_what_if_with_fewer_gpus_answers_that_it_would_start_and_changes_nothing() -> None:
    state = a_cluster(a_gpu_node("n1", 4))
    queue(state, a_demand(1, gpus(2), time_limit_s=50.0), a_demand(2, gpus(4)))
    answer = state.what_if(a_demand(2, gpus(2)), 100.0)
    assert (answer.reasons, answer.start) == ((), StartForecast(100.0, 100.0))
    same = state.what_if(a_demand(2, gpus(3)), 100.0)
    assert [reason.code for reason in same.reasons] == ["no-free-gpu"]
    assert same.start == StartForecast(150.0, 150.0)
    assert message(state, "j2") == "needs 4 GPUs; 2 free now"


def test_what_if_in_another_virtual_cluster_goes_by_its_limits() -> None:
    vcs = [a_vc("full", limits=Limits(running_jobs=1)), a_vc("open")]
    state = a_cluster(a_gpu_node("n1", 4), vcs=vcs)
    queue(state, a_demand(1, gpus(1), vc="full"), a_demand(2, gpus(1), vc="full"))
    assert codes(state, "j2") == ["limit"]
    assert state.what_if(a_demand(2, gpus(1), vc="open"), 100.0).start == StartForecast(100.0, 100.0)
    assert codes(state, "j2") == ["limit"]


def test_private_jobs_of_others_are_not_named() -> None:
    state = a_cluster(a_gpu_node("n1", 4), vcs=[a_vc("v", policy=OrderPolicy.FIFO)])
    queue(state, a_demand(1, gpus(2), vc="v", time_limit_s=50.0, user="bob", is_private=True))
    queue(
        state,
        *(a_demand(number, gpus(4 if number == 2 else 1), vc="v", user="bob", is_private=True) for number in (2, 3)),
    )
    queue(state, a_demand(4, gpus(1), vc="v", user="amy", is_private=True))
    told = {reason.code: reason for reason in state.reasons("j4", 100.0)}
    assert told["reserved"].message == "what is free is reserved for another job"
    assert told["reserved"].numbers["for"] == "another job"
    assert told["behind"].message.startswith("waits behind another job")
    assert "job-" not in str(told)
    own = {reason.code: reason for reason in state.reasons("j3", 100.0)}
    assert own["reserved"].message == "what is free is reserved for job-2"


def test_jobs_that_make_way_for_a_private_one_do_not_learn_its_name() -> None:
    state = a_cluster(a_gpu_node("n1", 2))
    queue(state, *(a_demand(n, gpus(1), priority=Priority.LOW, user="bob", is_private=True) for n in (1, 2)))
    plan = queue(state, a_demand(3, gpus(2), priority=Priority.HIGH, user="cy", is_private=True), at=200.0)
    assert {preemption.reason.message for preemption in plan.preemptions} == {"was preempted by another job"}
    assert message(state, "j3") == "its resources are assigned; 2 other jobs are still stopping there"


def test_a_node_runs_as_many_tasks_as_it_may() -> None:
    node = a_node("n1", 8)
    state = a_cluster(replace(node, capacity=replace(node.capacity, tasks=3)))
    tiny = a_role(replicas=2, cpu=0.01)
    assert started(queue(state, a_demand(1, tiny), a_demand(2, tiny), a_demand(3, a_role(cpu=0.01)))) == ["j1", "j3"]
    assert state.reasons("j2", 100.0)[0].code == "no-free-task"
    assert message(state, "j2") == "needs room for 2 tasks; room for 0 free now"
    state.released("j1")
    assert started(state.cycle(101.0)) == ["j2"]
    refused = state.never_fits(a_demand(4, a_role(replicas=4, cpu=0.01)))
    assert refused is not None
    assert "room for 4 tasks, but the whole cluster has room for 3" in refused.message


def test_a_gang_is_spread_where_nodes_run_few_tasks() -> None:
    nodes = [a_node(f"n{number}", 8) for number in (1, 2)]
    state = a_cluster(*(replace(node, capacity=replace(node.capacity, tasks=2)) for node in nodes))
    plan = queue(state, a_demand(1, a_role(replicas=4, cpu=0.01)))
    assert sorted(slot.node for slot in plan.starts[0].slots) == ["n1", "n1", "n2", "n2"]


def test_a_job_of_higher_priority_gets_room_for_its_task() -> None:
    node = a_node("n1", 8)
    state = a_cluster(replace(node, capacity=replace(node.capacity, tasks=1)))
    queue(state, a_demand(1, a_role(cpu=0.01), priority=Priority.LOW))
    plan = queue(state, a_demand(2, a_role(cpu=0.01), priority=Priority.HIGH), at=200.0)
    assert [preemption.job_id for preemption in plan.preemptions] == ["j1"]
