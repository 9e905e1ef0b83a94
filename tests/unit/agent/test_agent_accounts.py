"""The numbers that users without an account get on a node, and who gets them."""

import json
from pathlib import Path

import pytest

from muster.agent.isolation.accounts import Account, Accounts
from muster.agent.isolation.orders import USER, IsolationOrder

pytestmark = pytest.mark.fast

FIRST, LAST = 1_900_000, 1_900_009


def account(accounts: Accounts, owner_id: str, owner: str = "no-such-person", uid: int = FIRST) -> Account:
    return accounts.account_of(IsolationOrder(USER, owner, owner_id, None, uid, FIRST, LAST, ()))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("tasks", "inputs", "setups"):
        (tmp_path / name).mkdir()
    return tmp_path


def test_a_later_user_of_the_same_name_gets_another_number_and_another_secret(root: Path) -> None:
    accounts = Accounts(str(root))
    former, later = account(accounts, "u-1"), account(accounts, "u-2")
    assert former.uid != later.uid
    assert former.secret != later.secret


def test_numbers_of_former_and_later_users_survive_the_agent(root: Path) -> None:
    before = [account(Accounts(str(root)), owner_id) for owner_id in ("u-1", "u-2", "u-3")]
    again = Accounts(str(root))
    assert [account(again, owner_id) for owner_id in ("u-1", "u-2", "u-3")] == before
    assert len({one.uid for one in before}) == 3


def test_a_number_that_an_earlier_version_gave_stays_with_the_first_user_who_asks(root: Path) -> None:
    (root / "accounts.json").write_text(json.dumps({"no-such-person": {"secret": "kept", "uid": LAST}}))
    accounts = Accounts(str(root))
    first, second = account(accounts, "u-1"), account(accounts, "u-2")
    assert (first.uid, first.secret) == (LAST, "kept")
    assert second.uid != LAST
    assert account(Accounts(str(root)), "u-1") == first


def test_a_job_of_a_removed_user_keeps_the_number_that_the_user_had(root: Path) -> None:
    accounts = Accounts(str(root))
    assert account(accounts, "u-1") == account(accounts, "")


def test_a_user_who_is_first_asked_for_without_an_id_keeps_the_number_with_one(root: Path) -> None:
    accounts = Accounts(str(root))
    assert account(accounts, "") == account(accounts, "u-1")
    assert account(accounts, "u-2").uid != account(accounts, "u-1").uid
