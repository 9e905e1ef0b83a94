"""Secrets of users: they are set, listed and removed, and their values are looked up when a task is launched."""

from collections.abc import Collection, Sequence

import structlog

from muster.domain.accounts import User
from muster.domain.errors import Conflict, Invalid, Problem, Rejected, TooLarge, Unavailable
from muster.domain.failures.exit_causes import SECRET
from muster.domain.secrets import Secret, SecretKind, is_of_a_job, kind_of
from muster.domain.specs import JobSpec, SecretUse
from muster.engine.context import Context
from muster.engine.state.event_builders import audit_event
from muster.launch.registry_credentials import registry_config
from muster.ports.secret_box import SecretBox
from muster.ports.store import Change

_log = structlog.get_logger("engine.secrets")
_NAMED = 10
_OF_REGISTRY = "runtime.pullSecret"
_LOST_HINT = "put the lost key back into the server's key file, or let the owners run `muster secret set NAME`"


async def set_secret(context: Context, owner: User, name: str, value: bytes) -> tuple[Secret, bool]:
    """Store the value, encrypted. Returns the secret and whether it is new."""
    if is_of_a_job(name):
        raise Invalid(f"{name} is a name for a secret of a job", hint="choose one that does not begin like an id")
    most = context.limits.secret_bytes
    if len(value) > most:
        raise TooLarge(f"the secret has {len(value)} bytes, {most} are allowed", hint="larger data belongs in inputs")
    if not value:
        raise Invalid("the secret is empty", hint="give a value; `muster delete secret/NAME` removes a secret")
    existing = await context.store.secrets(owner.id)
    known = next((one for one in existing if one.name == name), None)
    count = sum(not is_of_a_job(one.name) for one in existing)
    if known is None and count >= context.limits.secrets_per_user:
        raise Conflict(
            f"{owner.name} has {count} secrets, {context.limits.secrets_per_user} are allowed",
            hint="muster delete secret/NAME",
        )
    now = context.clock()
    created_at = now if known is None else known.created_at
    await require_key(context)
    sealed = secret_box(context).seal(owner.id, name, value)
    secret = Secret(owner.id, name, kind_of(value), len(value), created_at, now, owner.name, sealed)
    event = audit_event("secret.set", owner.name, now, secret=name, user=owner.name)
    await context.store.apply(Change(secret=secret, events=[event]))
    return secret, known is None


async def remove_secret(context: Context, owner: User, name: str, *, actor: str) -> None:
    event = audit_event("secret.remove", actor, context.clock(), secret=name, user=owner.name)
    await context.store.apply(Change(removed_secret=(owner.id, name), events=[event]))


async def missing_secrets(
    context: Context, uses: Sequence[SecretUse], owner: str, carried: Collection[str] = ()
) -> list[Problem]:
    """The problems of a spec whose secrets its owner does not have, or has not in the form that it asks for. A use
    without a name has a problem of its own already. Those in `carried` came with the job."""
    if not uses:
        return []
    user = await context.store.user(owner)
    known = {one.name: one for one in await context.store.secrets(user.id)} if user is not None else {}
    problems = []
    for place, use in enumerate(uses):
        if not use.name or use.name in carried:
            continue
        secret = known.get(use.name)
        if secret is None:
            hint = f"create it: muster secret set {use.name}"
            problems.append(Problem(f"secrets[{place}].name", f"{owner} has no secret {use.name!r}", hint))
        elif secret.kind is SecretKind.BINARY and not use.file:
            problems.append(Problem(f"secrets[{place}].env", *_NOT_A_VARIABLE))
    return problems


async def pull_secret_problems(context: Context, name: str | None, owner: str) -> list[Problem]:
    """The problem of a spec whose secret for the registry its owner does not have, or that has no credentials."""
    if not name:
        return []
    user = await context.store.user(owner)
    found = await context.store.sealed_secrets(user.id, [name]) if user is not None else []
    if not found:
        hint = f"create it: muster secret set {name} --from-file ~/.docker/config.json"
        return [Problem(_OF_REGISTRY, f"{owner} has no secret {name!r}", hint)]
    try:
        registry_config(opened(context, found)[name])
    except Invalid as error:
        return [Problem(_OF_REGISTRY, error.message, error.hint)]
    except Rejected as error:
        return [Problem(_OF_REGISTRY, error.message)]
    return []


async def secret_values(context: Context, owner: str, spec: JobSpec) -> dict[str, bytes]:
    """The present values of all secrets that the spec names. Raises Rejected if one cannot be had: another attempt
    would not find it either."""
    user = await context.store.user(owner)
    names = list(spec.secret_names)
    found = await context.store.sealed_secrets(user.id, names) if user is not None else []
    gone = sorted(set(names) - {one.name for one in found})
    if gone:
        raise Rejected(f"{owner} has no secret {', '.join(gone)} any more", reason=SECRET)
    binary = {one.name for one in found if one.kind is SecretKind.BINARY}
    unusable = sorted(use.name for use in spec.secrets if use.name in binary and not use.file)
    if unusable:
        raise Rejected(f"{', '.join(unusable)} {_NOT_A_VARIABLE[0]}", reason=SECRET)
    return opened(context, found)


async def lost_secrets(context: Context) -> list[Problem]:
    """The problem that admins see if secrets cannot be decrypted with the present keys."""
    if context.secret_box is None:
        return []
    found = await context.store.all_sealed_secrets()
    try:
        lost = context.secret_box.unreadable(found)
    except Unavailable as error:
        return [Problem("secrets", error.message, error.hint)] if found else []
    if not lost:
        return []
    names = ", ".join(f"{one.name} of {one.owner}" for one in lost[:_NAMED])
    more = f" and {len(lost) - _NAMED} more" if len(lost) > _NAMED else ""
    message = f"{len(lost)} of {len(found)} cannot be decrypted with the present key: {names}{more}"
    return [Problem("secrets", message, _LOST_HINT)]


async def warn_of_lost_secrets(context: Context) -> None:
    for problem in await lost_secrets(context):
        _log.warning("secrets cannot be decrypted", problem=problem.message, hint=problem.hint)


async def require_key(context: Context) -> None:
    """The first secret of all makes the key. If there are secrets and no key, the key is lost, or another server has
    it: the box knows which. Values of a lost key stay unreadable until they are set again."""
    box = secret_box(context)
    if box.has_key():
        return
    existing = await context.store.secrets(None)
    if not existing:
        box.make_key()
        return
    box.replace_lost_key()
    _log.warning(
        "the key of the secrets is lost: a new one was made, and owners must set them again", lost=len(existing)
    )


def opened(context: Context, found: Sequence[Secret]) -> dict[str, bytes]:
    try:
        return {one.name: secret_box(context).open(one.owner_id, one.name, one.sealed) for one in found}
    except Unavailable as error:
        raise Rejected(error.message, reason=SECRET) from None


def secret_box(context: Context) -> SecretBox:
    if context.secret_box is None:
        raise Unavailable("this server has no key for secrets")
    return context.secret_box


_NOT_A_VARIABLE = ("is binary, which a variable cannot be", "give it as a file")
