"""Samples as lines of InfluxDB's protocol."""

import re
from typing import Any

import pytest

from muster.exporters.lines import FIELDS, TAGS, lines_of
from muster.ports.capabilities import NodeUsage

pytestmark = pytest.mark.fast

FIGURES: dict[str, Any] = {
    "cpu_percent": 12.5,
    "per_core": [10.0, 15],
    "memory_total_bytes": 1000,
    "memory_used_bytes": 250,
    "memory_available_bytes": 750,
    "memory_free_bytes": 500,
    "disk_mount": "/var/my data",
    "disk_total_bytes": 400,
    "disk_used_bytes": 100,
    "disk_free_bytes": 280,
    "net": [{"name": "eth0", "speed_mbit": 1000, "rx_bytes_s": 10.0, "tx_bytes_s": 2.0}],
    "gpus": [
        {
            "index": 0,
            "load": 87.0,
            "memory_used_bytes": 20 << 30,
            "memory_total_bytes": 80 << 30,
            "temperature_c": 65,
            "power_w": None,
        },
        {"index": 1, "load": None, "memory_used_bytes": None, "memory_total_bytes": None},
    ],
}


def test_a_sample_becomes_points_that_boards_know() -> None:
    assert lines_of("lab", "gpu1", NodeUsage(1.0, FIGURES, {}, 1700000000.25)) == [
        "cpu,cluster=lab,host=gpu1,cpu=cpu0 value=10.0 1700000000250",
        "cpu,cluster=lab,host=gpu1,cpu=cpu1 value=15.0 1700000000250",
        "cpu,cluster=lab,host=gpu1,cpu=cpu-total value=12.5 1700000000250",
        "ram,cluster=lab,host=gpu1 total=1000.0,available=750.0,percent=25.0,used=250.0,free=500.0 1700000000250",
        "gpu,cluster=lab,host=gpu1,gpu=gpu0 load=0.87,mem_used=20480.0,mem_total=81920.0,mem_util=0.25,"
        "mem_available=61440.0,temperature=65.0 1700000000250",
        "net,cluster=lab,host=gpu1,net=eth0 bandwidth=1000.0,recv_bytes_ps=80.0,sent_bytes_ps=16.0 1700000000250",
        "disk,cluster=lab,host=gpu1,disk=/var/my\\ data total=400.0,used=100.0,free=280.0,percent=25.0 1700000000250",
    ]


def test_the_tables_say_what_is_sent() -> None:
    for line in lines_of("lab", "gpu1", NodeUsage(1.0, FIGURES, {}, 1.0)):
        series, fields, _ = re.split(r"(?<!\\) ", line)
        measurement, *tags = series.split(",")
        assert {tag.split("=")[0] for tag in tags} == set(TAGS[measurement])
        assert {field.split("=")[0] for field in fields.split(",")} <= set(FIELDS[measurement])


def test_no_name_can_end_its_tag_or_its_line() -> None:
    (line, *_) = lines_of("a,b=c d", "evil\nname\\", NodeUsage(1.0, {"per_core": [1]}, {}, 1.0))
    assert line == "cpu,cluster=a\\,b\\=c\\ d,host=evil_name/,cpu=cpu0 value=1.0 1000"


def test_what_is_not_known_is_not_sent() -> None:
    assert lines_of("lab", "n", NodeUsage(1.0, {"gpus": [{"index": 0}]}, {}, 1.0)) == []
