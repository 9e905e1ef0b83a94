import xml.etree.ElementTree as ElementTree

import pytest

from muster.cli.failures import Failure
from muster.cli.png_files import png_or_failure
from muster.simulation.charts import COLOURS, HEIGHT, WIDTH, draw
from muster.simulation.records import Finished, Run, Sample, TraceJob

SVG = "{http://www.w3.org/2000/svg}"


def a_run(policy: str = "fifo") -> Run:
    """Four GPUs, all busy for the first half of 100 s while 10 jobs wait, then half of them."""
    first, second = TraceJob("a", 0, 50, 4), TraceJob("b", 0, 50, 2)
    return Run(
        policy, 4, [Finished(first, 0, 50), Finished(second, 50, 100)], [Sample(0, 4, 10, 2), Sample(50, 2, 0, 0)]
    )


def lines(svg: str) -> list[list[tuple[float, float]]]:
    texts = [str(line.get("points")) for line in ElementTree.fromstring(svg).iter(f"{SVG}polyline")]
    return [[(float(x), float(y)) for x, y in (pair.split(",") for pair in text.split())] for text in texts]


def texts(svg: str) -> list[str]:
    return [text.text or "" for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.fast
def test_lines_go_where_the_numbers_are() -> None:
    queue, busy, done = lines(draw([a_run()]))

    left, right, middle = 78, 936, 507
    assert queue == [(left, 106.7), (middle, 106.7), (middle, 290), (right, 290)]  # 10 of an axis up to 12
    assert busy == [(left, 356), (middle, 356), (middle, 466), (right, 466)]
    assert (done[0][1], done[-1][1]) == (862, 642)


@pytest.mark.fast
def test_axes_are_named_with_fitting_units() -> None:
    shown = texts(draw([a_run()]))

    assert {"fifo", "Jobs waiting", "GPUs busy", "Jobs done within", "100 %", "seconds since the first submission"} <= {
        *shown
    }


@pytest.mark.fast
def test_each_policy_has_its_colour_and_name() -> None:
    svg = draw([a_run("fifo"), a_run("las & more")])

    assert {"fifo", "las & more"} <= {*texts(svg)}
    assert svg.count(f'stroke="{COLOURS[0]}"') == svg.count(f'stroke="{COLOURS[1]}"') == 3


@pytest.mark.fast
def test_the_size_of_a_picture_does_not_grow_with_the_trace() -> None:
    many = [Finished(TraceJob(str(n), n, 1 + n % 977, 1), n, n + 1 + n % 977) for n in range(20_000)]
    samples = [Sample(n, n % 4, n % 13, 0) for n in range(20_000)]

    assert len(draw([Run("fifo", 4, many, samples)])) < 150_000


@pytest.mark.fast
def test_a_run_of_nothing_can_be_drawn() -> None:
    assert texts(draw([Run("fifo", 4, [])]))


@pytest.mark.fast
def test_without_a_program_for_it_png_is_refused_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")

    with pytest.raises(Failure) as caught:
        png_or_failure(draw([a_run()]), WIDTH, HEIGHT)

    assert "neither rsvg-convert nor chromium" in caught.value.message
    assert ".svg" in caught.value.hint


def test_png_is_made_by_what_the_machine_has() -> None:
    try:
        png = png_or_failure(draw([a_run()]), WIDTH, HEIGHT)
    except Failure as error:
        pytest.skip(error.message)

    assert png.startswith(b"\x89PNG")
    assert int.from_bytes(png[16:20], "big") == 960
