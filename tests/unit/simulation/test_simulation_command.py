"""`muster sim` from end to end, on traces whose schedules were worked out by hand.

Four GPUs on one node. Jobs: a (2 GPUs, 100 s) at 0, b (4, 100 s) at 10, c (2, 10 s) at 20, d (2, 50 s) at 30,
e (2, 100 s) at 40, f (4, 5 s) at 190. When each ends:

                                   a     b     c     d     e     f     sum of JCT
    fifo: b blocks c, d, e       100   200   210   250   310   315     1095
    first-fit: c, d, e pass b    100   280    30    80   180   285      665
    easy: e would delay b        100   200    30    80   300   305      725
    ssf: shorter ones pass b     100   280    30    80   180   285      665
    srsf: f stops b at 190       100   285    30    80   180   195      580
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from muster.cli.main import cli
from tests.unit.cli.calling import muster
from tests.unit.client.tiny_server import Answer, TinyServer, a_job

pytestmark = pytest.mark.fast

TRACES = Path(__file__).parents[2] / "data/traces"
SIX = str(TRACES / "six_jobs.csv")
GENERATED = TRACES / "generated.csv"


@pytest.fixture
def server() -> Iterator[TinyServer]:
    tiny = TinyServer()
    yield tiny
    tiny.stop()


@pytest.mark.parametrize(
    ("policy", "total_jct", "makespan", "preemptions"),
    [
        ("fifo", 1095, 315, 0),
        ("first-fit", 665, 285, 0),
        ("easy", 725, 305, 0),
        ("ssf", 665, 285, 0),
        ("srsf", 580, 285, 1),
    ],
)
@pytest.mark.parametrize("placement", ["consolidated", "count"])
def test_schedules_are_those_worked_out_by_hand(
    policy: str, total_jct: float, makespan: float, preemptions: int, placement: str
) -> None:
    done = muster(
        None, "sim", "--trace", SIX, "--nodes", "1x4", "--policy", policy, "--placement", placement, "-o", "json"
    )

    summary = done.document
    assert (done.code, done.err) == (0, "")
    assert (summary["policy"], summary["jobs"]) == (policy, 6)
    assert summary["mean_jct"] == pytest.approx(total_jct / 6, abs=1e-6)
    assert (summary["makespan"], summary["preemptions"]) == (makespan, preemptions)


@pytest.mark.parametrize(
    ("cost", "long_ends", "short_ends", "lost_gpu_s", "preemptions"),
    [
        ("0", 1060, 160, 0, 1),
        ("helios", 1090, 160, 4 * 30, 1),
        ("checkpoint:30m", 1160, 160, 4 * 100, 1),
        ("checkpoint:30s", 1070, 160, 4 * 10, 1),
        ("none", 1000, 1060, 0, 0),
    ],
)
def test_a_preemption_costs_what_was_said(
    cost: str, long_ends: float, short_ends: float, lost_gpu_s: float, preemptions: int
) -> None:
    """A job of 4 GPUs and 1000 s is stopped at 100 for one of 60 s."""
    words = ("--nodes", "1x4", "--policy", "srsf", "--preemption-cost", cost, "-o", "json")
    summary = muster(None, "sim", "--trace", str(TRACES / "two_jobs.csv"), *words).document

    assert summary["mean_jct"] == (long_ends + short_ends - 100) / 2
    assert summary["makespan"] == max(long_ends, short_ends)
    assert (summary["lost_gpu_s"], summary["preemptions"]) == (lost_gpu_s, preemptions)
    assert summary["preemption_cost"] == ("checkpoint:1800s" if cost == "checkpoint:30m" else cost)


def test_waiting_and_use_are_measured_over_time() -> None:
    """fifo: somebody waits from 10 to 210 and from 190 on (f, until 310); 2 GPUs are busy at first, then 4 …"""
    summary = muster(None, "sim", "--trace", SIX, "--nodes", "1x4", "--policy", "fifo", "-o", "json").document

    busy_while_waiting = 2 * 90 + 4 * 100 + 4 * 10 + 4 * 40 + 2 * 60
    assert summary["busy_while_waiting"] == pytest.approx(busy_while_waiting / (4 * 300), abs=1e-6)
    assert summary["utilisation"] == pytest.approx(940 / (4 * 315), abs=1e-6)
    assert summary["vcs"]["vision"]["jobs"] == 3
    assert summary["vcs"]["vision"]["mean_queue"] == pytest.approx((0 + 90 + 170) / 3, abs=1e-6)
    assert summary["users"]["bob"]["max_jct"] == 220


def test_several_policies_are_a_list_of_runs_in_the_order_asked_for() -> None:
    done = muster(
        None, "sim", "--trace", SIX, "--nodes", "1x4", "--policy", "srsf,fifo", "--policy", "las", "-o", "json"
    )

    assert [run["policy"] for run in done.document["runs"]] == ["srsf", "fifo", "las"]


def test_people_get_a_table_with_a_column_for_each_policy() -> None:
    done = muster(None, "sim", "--trace", SIX, "--nodes", "1x4", "--policy", "fifo,srsf", "-o", "wide")

    lines = [line.split() for line in done.out.splitlines()]
    assert lines[0] == ["fifo", "srsf"]
    assert ["JCT,", "mean", "182.50", "96.67"] in lines
    assert ["preemptions", "0", "1"] in lines
    assert any(line[:1] == ["vision"] for line in lines)


@pytest.mark.parametrize("policy", ["fifo", "first-fit", "easy", "ssf", "srsf", "las", "fair", "default"])
@pytest.mark.parametrize("durations", ["exact", "unknown", "noisy:1", "limit"])
def test_every_policy_ends_every_job_whatever_it_knows(policy: str, durations: str) -> None:
    done = muster(
        None,
        "sim",
        "--trace",
        str(GENERATED),
        "--nodes",
        "4x8",
        "--policy",
        policy,
        "--durations",
        durations,
        "-o",
        "json",
    )

    summary = done.document
    assert (summary["jobs"], summary["never"], summary["durations"]) == (120, 0, durations)
    assert summary["mean_queue"] >= 0


def test_the_generator_still_makes_the_trace_that_is_kept() -> None:
    done = muster(None, "sim", "generate", "--jobs", "120", "--seed", "7", "--per-hour", "30")

    assert done.out == GENERATED.read_text(encoding="utf-8")


def test_jobs_of_virtual_clusters_without_quota_are_left_out_and_said_so() -> None:
    done = muster(None, "sim", "--trace", SIX, "--nodes", "2x4", "--vc", "vision=2", "-o", "json")

    assert (done.document["jobs"], done.document["left_out"]) == (3, 3)
    assert "3 jobs left out: their virtual cluster has no guaranteed nodes" in done.err


def test_quotas_come_from_a_file_too(tmp_path: Path) -> None:
    (tmp_path / "quota.csv").write_text("vc,nodes_of_4_gpus\nvision,1\nspeech,1\n")

    done = muster(
        None, "sim", "--trace", SIX, "--nodes", "2x4", "--vc-quota", str(tmp_path / "quota.csv"), "-o", "json"
    )

    assert (done.document["jobs"], done.document["left_out"]) == (6, 0)


def test_apart_every_virtual_cluster_sees_only_its_own_nodes() -> None:
    """Alone on four GPUs, fifo: vision runs a 0-100, b 100-200, e 200-300; speech c 20-30, d 30-80, f 190-195."""
    done = muster(
        None, "sim", "--trace", SIX, "--nodes", "2x4", "--policy", "fifo",
        *("--vc", "vision=1", "--vc", "speech=1", "--apart", "-o", "json"),
    )  # fmt: skip

    together, apart = done.document["runs"]
    assert apart["policy"] == "fifo apart"
    assert apart["vcs"]["vision"]["mean_queue"] == pytest.approx((0 + 90 + 160) / 3, abs=1e-6)
    assert apart["vcs"]["speech"]["mean_queue"] == 0
    assert apart["utilisation"] == pytest.approx(940 / (8 * 300), abs=1e-6)
    assert apart["busy_while_waiting"] == pytest.approx((2 * 90 + 4 * 100 + 20 + 100 + 20) / (8 * 190), abs=1e-6)
    assert together["worse_off"] == 0


def test_one_s_own_history_is_replayed_on_one_s_own_nodes(server: TinyServer) -> None:
    past = a_job(
        state="Succeeded",
        createdAt="2026-01-01T00:00:00Z",
        startedAt="2026-01-01T00:01:00Z",
        endedAt="2026-01-01T00:03:00Z",
        resources={"cpu": "1", "memory": "1Gi", "gpu": 1},
    )
    node = {
        "name": "n1",
        "cluster": "lab",
        "state": "Ready",
        "cpu": {"total": "8", "used": "0"},
        "memory": {"total": 8 << 30, "used": 0},
        "gpus": [{"index": 0, "model": "V100", "job": None}],
        "tasks": 0,
        "note": "",
    }
    server.on("GET", "/jobs", Answer(200, {"items": [past], "nextCursor": None}))
    server.on("GET", "/nodes", Answer(200, {"items": [node], "nextCursor": None}))

    done = muster(server, "sim", "--from-history", "--policy", "fifo", "-o", "json")

    assert done.code == 0
    assert (done.document["jobs"], done.document["gpus"], done.document["mean_jct"]) == (1, 1, 120)


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_a_picture_is_written_beside_the_numbers(tmp_path: Path, ending: str) -> None:
    picture = tmp_path / f"compared.{ending}"

    done = muster(None, "sim", "--trace", SIX, "--nodes", "1x4", "--policy", "fifo,srsf", "--picture", str(picture))

    if done.code and "no PNG could be made" in done.err:
        pytest.skip(done.err)
    assert done.code == 0
    assert picture.read_bytes()[:4] == (b"<svg" if ending == "svg" else b"\x89PNG")


def test_a_job_that_is_too_large_is_told_and_the_rest_go_on() -> None:
    done = muster(None, "sim", "--trace", SIX, "--nodes", "1x2", "--policy", "fifo", "-o", "json")

    assert done.code == 0
    assert (done.document["jobs"], done.document["never_jobs"]) == (4, ["b", "f"])
    assert "2 jobs could never run on these nodes: b, f" in done.err


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ((), "either --trace FILE or --from-history"),
        (("--trace", SIX, "--from-history"), "either --trace FILE or --from-history"),
        (("--trace", SIX), "--nodes COUNTxGPUS"),
        (("--trace", SIX, "--nodes", "8y8"), "'8y8': expected COUNTxGPUS"),
        (("--trace", SIX, "--nodes", "1x4", "--policy", "fifo,lifo"), "'lifo': expected fifo, first-fit"),
        (("--trace", SIX, "--nodes", "1x4", "--durations", "noisy"), "expected exact, unknown, noisy:SEED or limit"),
        (("--trace", SIX, "--nodes", "1x4", "--preemption-cost", "1"), "expected 0, helios, checkpoint:INTERVAL"),
        (("--trace", SIX, "--nodes", "1x4", "--vc", "vision"), "expected NAME=NODES"),
        (("--trace", SIX, "--nodes", "1x4", "--picture", "a.gif"), "ends in .svg or .png"),
        (("--trace", SIX, "--nodes", "1x4", "--since", "7d"), "--since needs --from-history"),
        (("genrate",), "genrate"),
    ],
)
def test_wrong_usage_is_told_with_what_would_do(words: tuple[str, ...], error: str) -> None:
    done = muster(None, "sim", *words)

    assert done.code == 2
    assert error in done.err


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--trace", "absent.csv", "--nodes", "1x4"), "absent.csv: No such file or directory"),
        (
            ("--trace", SIX, "--nodes", "1x4", "--vc", "vision=2"),
            "2 nodes are guaranteed to virtual clusters, but there are only 1",
        ),
        (
            ("--trace", SIX, "--nodes", "1x4", "--vc", "nlp=1"),
            "no job belongs to a virtual cluster with guaranteed nodes",
        ),
        (("--trace", SIX, "--nodes", "1x4", "--apart"), "only with a quota"),
        (("--trace", __file__, "--nodes", "1x4"), "lacks the columns"),
    ],
)
def test_what_cannot_be_done_fails_with_the_reason(words: tuple[str, ...], error: str) -> None:
    done = muster(None, "sim", *words)

    assert done.code == 1
    assert error in done.err


def test_policies_are_completed_after_a_comma_too() -> None:
    completed = ShellComplete(cli, {}, "muster", "_MUSTER_COMPLETE").get_completions(["sim", "--policy"], "fifo,s")

    assert [item.value for item in completed] == ["fifo,ssf", "fifo,srsf"]


def test_json_is_one_object_with_what_scripts_rely_on() -> None:
    done = muster(None, "sim", "--trace", SIX, "--nodes", "1x4", "-o", "json")

    promised = {
        *("jobs", "mean_jct", "p50_jct", "p90_jct", "p99_jct", "max_jct", "mean_queue", "p99_queue", "makespan"),
        *(
            "preemptions",
            "lost_gpu_s",
            "busy_while_waiting",
            "vcs",
            "users",
            "fairness",
            "utilisation",
            "fragmentation",
        ),
    }
    assert promised <= json.loads(done.out).keys()
    assert json.loads(done.out)["policy"] == "default"
