"""Templates that users share: they are published in versions, found by those who may use them, and removed."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from muster.domain.accounts import User
from muster.domain.errors import Conflict, Forbidden, Invalid, NotFound, Problem
from muster.domain.specs import JobSpec
from muster.domain.templates import MAX_PER_USER, MAX_VERSIONS, Template, secrets_in, wrong_files
from muster.engine.context import Context
from muster.engine.state.event_builders import audit_event
from muster.lib.nearest import nearest
from muster.ports.store import Change


@dataclass(frozen=True, slots=True)
class Publication:
    name: str
    files: Mapping[str, str]
    spec: JobSpec
    description: str = ""
    group: str = ""
    everyone: bool = False


async def visible(context: Context, user: User) -> list[Template]:
    """The newest version of each template that the user may use, by name, without files."""
    return [template for template in await context.store.templates() if template.may_use(user)]


async def find(context: Context, user: User, name: str, version: int | None = None) -> Template:
    """Raises NotFound, also for a template that the user may not use."""
    newest = await context.store.template(name, None)
    if newest is None or not newest.may_use(user):
        raise await _unknown(context, user, name)
    if version is None or version == newest.version:
        return newest
    found = await context.store.template(name, version)
    if found is None:
        raise NotFound(f"template {name} has no version {version}", hint=f"the newest is {newest.version}")
    return found


async def publish(context: Context, user: User, given: Publication) -> tuple[Template, bool]:
    """Store a new version. Returns it and whether it is new: the same again is the version that is there."""
    _refuse_wrong(user, given)
    newest = await context.store.template(given.name, None)
    if newest is not None and not newest.may_replace(user):
        if newest.may_use(user):
            raise Forbidden(f"template {given.name} belongs to {newest.author}", hint="choose another name")
        raise Conflict(f"the name {given.name} is taken", hint="choose another name")
    if newest is None:
        await _require_room(context, user)
    made = Template(
        name=given.name,
        version=1 if newest is None else newest.version + 1,
        author_id=user.id,
        author=user.name,
        created_at=context.clock(),
        description=given.description,
        group=given.group,
        everyone=given.everyone,
        files=dict(given.files),
        size_bytes=sum(len(text.encode()) for text in given.files.values()),
    )
    if newest is not None:
        made = replace(made, author_id=newest.author_id, author=newest.author)  # an admin's version stays the author's
        if replace(made, version=newest.version, created_at=newest.created_at) == newest:
            return newest, False
    event = audit_event(
        "template.publish",
        user.name,
        made.created_at,
        template=made.name,
        version=made.version,
        group=made.group,
        everyone=made.everyone,
    )
    await context.store.apply(Change(template=made, kept_versions=MAX_VERSIONS, events=[event]))
    return made, True


async def remove(context: Context, user: User, name: str) -> None:
    """Remove all versions. Raises NotFound for a template that the user may not use."""
    newest = await context.store.template(name, None)
    if newest is None or not newest.may_use(user):
        raise await _unknown(context, user, name)
    if not newest.may_replace(user):
        raise Forbidden(f"{user.name} may not remove template {name}", hint=f"only {newest.author} or an admin may")
    event = audit_event("template.remove", user.name, context.clock(), template=name, author=newest.author)
    await context.store.apply(Change(removed_template=name, events=[event]))


async def _unknown(context: Context, user: User, name: str) -> NotFound:
    guess = nearest(name, [template.name for template in await visible(context, user)])
    return NotFound(
        f"there is no template {name!r}", hint=f"did you mean {guess}?" if guess else "see `muster template list`"
    )


def _refuse_wrong(user: User, given: Publication) -> None:
    problems = [*wrong_files(given.files), *secrets_in(given.spec, given.files)]
    if given.group and given.everyone:
        problems.append(Problem("group", "is given together with `everyone`", "give one of them"))
    if given.group and given.group not in user.groups and not user.is_admin:
        groups = ", ".join(user.groups)
        hint = f"your groups: {groups}" if groups else "you are in no group; an admin can add you to one"
        problems.append(Problem("group", f"{user.name} is not in group {given.group!r}", hint))
    if problems:
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        raise Invalid(f"the template has {count}, and was not published", problems=tuple(problems))


async def _require_room(context: Context, user: User) -> None:
    own = sum(template.author_id == user.id for template in await context.store.templates())
    if own >= MAX_PER_USER:
        raise Conflict(
            f"{user.name} has {own} templates, {MAX_PER_USER} are allowed", hint="muster template delete NAME"
        )
