"""Signed addresses of archives: each opens one archive until its end, and nothing else."""

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from muster.domain.errors import Forbidden, NotFound
from muster.engine.data.archives import SignedArchives

pytestmark = pytest.mark.fast
DIGEST = "a" * 64


@pytest.fixture
def archives(tmp_path: Path) -> SignedArchives:
    (tmp_path / f"{DIGEST}.tar.gz").write_bytes(b"code")
    return SignedArchives(tmp_path, "https://muster.lab", b"key", clock=lambda: 1000.0)


def parts(url: str) -> tuple[str, int, str]:
    split = urlsplit(url)
    query = parse_qs(split.query)
    return split.path.rsplit("/", 1)[1], int(query["expires"][0]), query["signature"][0]


def test_a_signed_address_opens_its_archive(archives: SignedArchives) -> None:
    url = archives.url(DIGEST, 60.0)
    assert url.startswith(f"https://muster.lab/api/v1/archives/{DIGEST}?")
    assert archives.opened(*parts(url)).read_bytes() == b"code"


def test_an_address_is_worth_nothing_after_its_end_or_with_another_part(archives: SignedArchives) -> None:
    digest, expires, signature = parts(archives.url(DIGEST, 60.0))
    late = SignedArchives(archives.folder, archives.address, archives.key, clock=lambda: 1060.0)
    other = SignedArchives(archives.folder, archives.address, b"another key", clock=lambda: 1000.0)
    for keeper, *changed in (
        (late, digest, expires, signature),
        (other, digest, expires, signature),
        (archives, "b" * 64, expires, signature),
        (archives, f"../{DIGEST}", expires, signature),
        (archives, digest, expires + 1, signature),
        (archives, digest, expires, signature[:-1]),
        (archives, digest, expires, "ü"),
        (archives, digest, expires, ""),
    ):
        with pytest.raises(Forbidden):
            keeper.opened(*changed)  # type: ignore[arg-type]


def test_a_removed_archive_is_not_found(archives: SignedArchives) -> None:
    archives.path(DIGEST).unlink()
    with pytest.raises(NotFound):
        archives.opened(*parts(archives.url(DIGEST, 60.0)))
