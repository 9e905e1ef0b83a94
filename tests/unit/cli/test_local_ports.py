"""How `muster port-forward` reads ports."""

import pytest

from muster.cli.local_ports import Mapping, parsed

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    ("text", "mapping"),
    [
        ("8888", Mapping(8888, 8888)),
        ("8888:80", Mapping(8888, 80)),
        ("0:80", Mapping(0, 80)),
        (":80", Mapping(0, 80)),
        ("0", None),
        ("80:", None),
        ("1:0", None),
        ("70000", None),
        ("1:70000", None),
        ("-1:80", None),
        ("1:2:3", None),
        ("web", None),
        ("", None),
    ],
)
def test_ports(text: str, mapping: Mapping | None) -> None:
    assert parsed(text) == mapping
