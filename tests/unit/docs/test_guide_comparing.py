"""When what a command printed is what a page shows."""

import pytest

from tests.guides.comparing import matches

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("train-8c6c  Succeeded  2s ago", "train-1f00   Succeeded   107s ago"),
        ("submitted job mnist (1m7f88hhkeyjxngn)", "submitted job mnist (1m7jty11gr5573yc)"),
        ("job mnist Succeeded after 1.8s", "job mnist Succeeded after 1m 2s"),
        ("mnist  11s ago  1.5s  -", "mnist  2m ago  1h 12m  -"),
        ("Muster is at http://127.0.0.1:7070", "Muster is at http://127.0.0.1:40411"),
        ('"createdAt": "2026-11-15T09:22:58.225Z",', '"createdAt": "2027-01-02T03:04:05Z",'),
        ("vm  Ready  0.25/2  0 B/23.5 GiB  3/4", "vm  Ready  0.25/64  0 B/251 GiB  3/4"),
        ("64 cores, 252 GiB, 4 GPUs (RTX3090)", "2 cores, 23.5 GiB, 4 GPUs (RTX3090)"),
        ("MUSTER_PORTS=25257,25258", "MUSTER_PORTS=31001,31002"),
        ("vm  Ready  72%  ▂▃▅▇  3.18  8.2 GiB/23.5 GiB", "vm  Ready  3%  ▁▁  0.4  9 GiB/251 GiB"),
        ("a … c", "a b c"),
    ],
)
def test_what_differs_from_run_to_run_is_equal(shown: str, printed: str) -> None:
    assert matches([shown], [printed])


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("mnist  Succeeded", "mnist  Failed"),
        ("vm  Ready  3/4", "vm  Ready  2/4"),
        ("error: no job mnist", "error: there is no job mnist"),
        ("NAME  STATE", "NAME  STATE  MODE"),
        ("4 GPUs (A100)", "4 GPUs (T4)"),
    ],
)
def test_everything_else_counts(shown: str, printed: str) -> None:
    assert not matches([shown], [printed])


def test_lines_may_be_left_out_where_the_page_says_so() -> None:
    assert matches(["a", "…", "d"], ["a", "b", "c", "d"])
    assert matches(["…", "d"], ["d"])
    assert not matches(["a", "d"], ["a", "b", "d"])
    assert not matches(["a", "…"], ["b", "a"])


def test_the_order_of_lines_counts_within_each_task_only() -> None:
    assert matches(["w-0 | a", "w-0 | b", "w-1 | a", "done"], ["w-1 | a", "w-0 | a", "w-0 | b", "done"])
    assert not matches(["w-0 | a", "w-0 | b"], ["w-0 | b", "w-0 | a"])
    assert not matches(["w-0 | a"], ["w-0 | a", "w-1 | a"])


def test_lines_of_tasks_may_be_left_out_too() -> None:
    assert matches(["w-0 | a", "w-1 | a", "…", "done"], ["w-0 | a", "w-0 | b", "w-1 | a", "w-1 | b", "done"])
    assert not matches(["w-0 | a", "w-1 | c", "…", "done"], ["w-0 | a", "w-1 | a", "done"])
