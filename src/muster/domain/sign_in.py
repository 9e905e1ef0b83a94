"""People as an identity provider knows them, and the rules by which they become users of Muster."""

from dataclasses import dataclass

from muster.domain.accounts import User, UserRole


@dataclass(frozen=True, slots=True)
class Person:
    """What a provider has confirmed about somebody. `issuer` and `subject` say who it is; everything else may change.

    `name` is empty if the provider gives the person none that Muster allows. `groups` is None if the provider is not
    asked for groups. `domain` is that of a confirmed mail address, else empty.
    """

    issuer: str
    subject: str
    name: str
    groups: tuple[str, ...] | None = None
    domain: str = ""

    @property
    def shown(self) -> str:
        return self.name or self.subject


@dataclass(frozen=True, slots=True)
class SignInRules:
    admin_groups: frozenset[str] = frozenset()
    """Their members are admins, and others are not. If it is empty, Muster alone decides who is an admin."""
    allowed_groups: frozenset[str] = frozenset()
    allowed_domains: frozenset[str] = frozenset()
    creates_users: bool = True
    """Whether somebody whom Muster does not know gets an account."""
    links_by_name: bool = False
    """Whether an account that exists already belongs to the person of the same name. Admins are never linked so."""
    session_lifetime_s: float | None = None


def why_refused(person: Person, rules: SignInRules) -> str | None:
    """Says why the person may not log in, or None."""
    groups = set(person.groups or ())
    if rules.allowed_groups and not groups & (rules.allowed_groups | rules.admin_groups):
        return f"{person.shown} is in none of the groups that may log in"
    if rules.allowed_domains and person.domain not in rules.allowed_domains:
        return f"{person.shown} has no confirmed mail address in a domain that may log in"
    return None


def role_of(person: Person, rules: SignInRules, user: User | None) -> UserRole:
    if rules.admin_groups:
        return UserRole.ADMIN if rules.admin_groups & set(person.groups or ()) else UserRole.USER
    return UserRole.USER if user is None else user.role
