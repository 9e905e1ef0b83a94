"""Which home folder a server uses: its own, or that of the other servers on its database."""

from pathlib import Path

import pytest

from muster.bootstrap.home_folder import identity
from muster.bootstrap.site import shared_site
from muster.ports.lease import Term

pytestmark = pytest.mark.fast


def term(home: Path) -> Term:
    return Term(7, "other", "http://other", identity(home), str(home), False, "")


@pytest.fixture
def homes(tmp_path: Path) -> tuple[Path, Path]:
    for name in ("own", "other"):
        (tmp_path / name).mkdir()
    return tmp_path / "own", tmp_path / "other"


def test_servers_on_one_database_share_the_first_home(
    homes: tuple[Path, Path], capfd: pytest.CaptureFixture[str]
) -> None:
    own, other = homes
    site = shared_site(term(other), own, has_own_database=False)
    assert (site.home, site.identity, site.is_own) == (other, identity(other), False)
    assert str(other) in str(site.problems(own)[0])
    assert "uses the home folder of the other servers" in "".join(capfd.readouterr())


def test_a_copied_home_with_its_database_is_used_itself(homes: tuple[Path, Path]) -> None:
    own, other = homes
    site = shared_site(term(other), own, has_own_database=True)
    assert (site.home, site.identity, site.is_own) == (own, identity(own), True)


def test_a_restored_lease_names_no_home(homes: tuple[Path, Path]) -> None:
    own, _ = homes
    assert shared_site(Term(7, "", "", "", "", False, ""), own, has_own_database=False).home == own
