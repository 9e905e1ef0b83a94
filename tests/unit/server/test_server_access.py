"""What a refusal says."""

import pytest

from muster.domain.accounts import Token, TokenScope, User, UserRole
from muster.domain.errors import Forbidden
from muster.engine.requests.accounts import Principal
from muster.server.access import Action, require

pytestmark = pytest.mark.fast


def refusal(role: UserRole, scope: TokenScope, action: Action) -> Forbidden:
    user = User("root", role, 1.0, id="u1")
    with pytest.raises(Forbidden) as raised:
        require(Principal(user, Token("t1", "u1", "ci", "hash", 1.0, scope=scope)), action)
    return raised.value


def test_a_narrow_token_of_an_admin_is_told_of_its_scope() -> None:
    error = refusal(UserRole.ADMIN, TokenScope.READ, Action.ALERT_RULES_SEE)
    wanted = "a token with the scope read can't see the rules and silences of alerts: it needs the scope admin"
    assert error.message == wanted
    assert "--scope admin" in error.hint


def test_a_user_is_told_that_only_admins_can() -> None:
    error = refusal(UserRole.USER, TokenScope.ADMIN, Action.ALERT_RULES_SEE)
    assert error.message == "root can't see the rules and silences of alerts: only an admin can"
