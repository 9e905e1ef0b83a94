"""Quantities as people write them, and that writing them reads back exactly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.lib.backoff import exponential
from muster.lib.clock import from_iso, iso, optional_iso
from muster.lib.ids import new_id
from muster.lib.nearest import nearest
from muster.lib.quantities import (
    about_bytes,
    about_duration,
    about_number,
    about_percent,
    format_bytes,
    format_cpu,
    format_duration,
    gpu_number,
    parse_bytes,
    parse_cpu,
    parse_duration,
    parse_gpu,
)

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    ("value", "millis"), [("500m", 500), (2, 2000), (0.5, 500), ("1.25", 1250), (" 3 ", 3000), ("0", 0), ("1 m", 1)]
)
def test_cpu_is_read_in_thousandths(value: str | int | float, millis: int) -> None:
    assert parse_cpu(value) == millis


@pytest.mark.parametrize("value", ["two", "2Gi", "-1", True, "", "1e3", "5M", float("inf"), float("nan"), 10**400])
def test_what_is_no_cpu_says_what_would_be(value: str | int | float) -> None:
    with pytest.raises(ValueError, match="a number of cores such as"):
        parse_cpu(value)


@pytest.mark.parametrize("value", [0, 1, 2, 1024, 0.5, 0.001, 0.333, "0.25", "8"])
def test_gpus_written_are_read_back(value: str | float) -> None:
    assert gpu_number(parse_gpu(value)) == float(value)


def test_a_card_alone_and_a_card_for_five_have_words() -> None:
    assert (parse_gpu("exclusive"), parse_gpu(" reuse ")) == (parse_gpu(1), parse_gpu(0.2))


def test_whole_gpus_are_written_without_a_point() -> None:
    assert [str(gpu_number(millis)) for millis in (0, 500, 2000, 2500)] == ["0", "0.5", "2", "2.5"]


@pytest.mark.parametrize("value", [1.5, 0.0001, "-1", True, "", "one", 1025, "500m", float("nan"), 10**400, None])
def test_what_is_no_number_of_gpus_says_what_would_be(value: object) -> None:
    with pytest.raises(ValueError, match="a whole number of GPUs, or a part of one such as"):
        parse_gpu(value)


@pytest.mark.parametrize(
    ("value", "count"),
    [
        ("512Mi", 512 << 20), ("2Gi", 2 << 30), ("8GB", 8 * 10**9), ("1.5Ki", 1536), (1024, 1024), ("3k", 3000),
        ("1Ti", 1 << 40), ("512MiB", 512 << 20), ("2 GiB", 2 << 30), ("3kB", 3000),
        ("9007199254740993", 9007199254740993),
    ],
)  # fmt: skip
def test_bytes_are_read_exactly(value: str | int, count: int) -> None:
    assert parse_bytes(value) == count


@pytest.mark.parametrize("value", ["2Gx", "much", "-1Gi", False, "", "99999Pi", 10**400])
def test_what_is_no_size_says_what_would_be(value: str | int) -> None:
    with pytest.raises(ValueError, match="a size such as"):
        parse_bytes(value)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("90s", 90.0), ("90m", 5400.0), ("2h", 7200.0), ("1h30m", 5400.0), ("02:30:00", 9000.0), (45, 45.0),
        ("45", 45.0), ("1.5", 1.5), ("250ms", 0.25), ("1d", 86400.0), ("1w", 604800.0), (0.25, 0.25),
    ],
)  # fmt: skip
def test_durations_are_read_in_seconds(value: str | int | float, seconds: float) -> None:
    assert parse_duration(value) == seconds


@pytest.mark.parametrize(
    "value",
    [
        "soon",
        "1h 30m",
        "-5",
        -5,
        True,
        "",
        "2:5",
        "02:99:00",
        "1y",
        float("inf"),
        float("nan"),
        "9999w",
        10**400,
        [1],
        {},
        None,
    ],
)
def test_what_is_no_duration_says_what_would_be(value: object) -> None:
    with pytest.raises(ValueError, match="a duration such as"):
        parse_duration(value)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (1.5, "1.5s"), (60, "1m"), (5400, "1h30m"), (90061, "1d1h1m1s"), (60.5, "1m0.5s"), (1e-5, "0.00001s")],
)
def test_durations_are_written_short(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@given(st.floats(0, 3e9))
def test_a_duration_written_reads_back_exactly(seconds: float) -> None:
    assert parse_duration(format_duration(seconds)) == seconds


@given(st.integers(0, 10**15))
def test_amounts_written_read_back_exactly(amount: int) -> None:
    assert parse_cpu(format_cpu(amount)) == amount
    assert parse_bytes(format_bytes(amount)) == amount


def test_sizes_for_people_have_one_decimal() -> None:
    assert [about_bytes(n) for n in (0, 1023, 1536, 5 << 30, 3 << 40)] == [
        "0 B", "1023 B", "1.5 KiB", "5.0 GiB", "3.0 TiB",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (0.42, "0.4s"), (9.96, "10s"), (45, "45s"), (60, "1m"), (125, "2m 5s"), (3725, "1h 2m"), (86460, "1d")],
)
def test_durations_for_people_have_two_units(seconds: float, text: str) -> None:
    assert about_duration(seconds) == text


def test_numbers_for_people_have_few_digits() -> None:
    assert [about_percent(n) for n in (0, 0.2, 30.7, 100)] == ["0 %", "<1 %", "31 %", "100 %"]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        *((0, "0"), (0.001, "<0.01"), (0.005, "0.01"), (0.036, "0.04"), (0.25, "0.25"), (0.1 + 0.2, "0.3")),
        *((1.1, "1.1"), (1.125, "1.12"), (2.0, "2"), (9.96, "9.96"), (9.996, "10"), (10, "10"), (31.4, "31")),
        *((100, "100"), (1234.5, "1234")),
    ],
)
def test_numbers_below_ten_have_two_decimals_where_they_matter(number: float, text: str) -> None:
    assert about_number(number) == text


def test_back_off_doubles_up_to_its_limit() -> None:
    assert [exponential(tries) for tries in (0, 1, 2, 3, 9, 10, 10_000)] == [0, 1, 2, 4, 256, 300, 300]
    assert exponential(3, first_s=0.2, limit_s=0.5) == 0.5


@given(st.integers(0, 4 * 10**12))
def test_times_written_read_back_to_the_millisecond(millis: int) -> None:
    instant = millis / 1000
    assert abs(from_iso(iso(instant)) - instant) < 0.0011
    assert iso(instant).endswith("Z")


def test_a_time_without_zone_is_utc_and_none_stays_none() -> None:
    assert from_iso("1970-01-01T00:00:10") == 10.0
    assert optional_iso(None) is None
    assert optional_iso(1.5) == "1970-01-01T00:00:01.500Z"


def test_ids_are_sixteen_plain_characters_and_do_not_repeat() -> None:
    ids = [new_id() for _ in range(1000)]
    assert len(set(ids)) == 1000
    assert all(len(one) == 16 and one.isalnum() and one == one.lower() for one in ids)
    assert [one[:9] for one in ids] == sorted(one[:9] for one in ids)


def test_the_nearest_known_word_ignores_case() -> None:
    assert nearest("TIMELIMIT", ["timeLimit", "name"]) == "timeLimit"
    assert nearest("xyz", ["timeLimit", "name"]) is None
