"""What people ask for: silences, and notices about their own jobs."""

from dataclasses import replace
from fnmatch import fnmatchcase

from muster.domain.accounts import User
from muster.domain.alerting.alert_records import Silence
from muster.domain.alerting.notices import NoticeSettings, QueuedNotice
from muster.domain.errors import Conflict, Invalid, Problem
from muster.engine.alerting.allowed_addresses import mail_is_allowed, webhook_is_allowed
from muster.engine.alerting.recipients import Recipient, webhook_address
from muster.engine.alerting.words import said
from muster.engine.context import Context
from muster.engine.state.event_builders import audit_event
from muster.lib.ids import new_id
from muster.ports.alerting import RuleBook
from muster.ports.store import AlertingChange, Change

_MOST_SILENCES = 1000


async def add_silence(
    context: Context, book: RuleBook, rule: str, subject: str, for_s: float, reason: str, actor: str
) -> Silence:
    """Raises Invalid if no rule matches, because such a silence would silence nothing."""
    known = [one.name for one in book.rules]
    if not any(fnmatchcase(name, rule) for name in known):
        raise Invalid(f"there is no rule {rule!r}", hint=f"known rules: {', '.join(known)}")
    if len(await context.store.silences()) >= _MOST_SILENCES:
        raise Conflict(f"there are {_MOST_SILENCES} silences already", hint="`muster alerts unsilence ID` ends one")
    now = context.clock()
    silence = Silence(new_id(), rule, subject, reason, actor, now, now + for_s)
    event = audit_event(
        "alert.silence", actor, now, silence=silence.id, rule=rule, subject=subject, reason=reason, seconds=for_s
    )
    await context.apply(Change(alerting=AlertingChange(silence=silence), events=[event]))
    return silence


async def remove_silence(context: Context, silence_id: str, actor: str) -> None:
    event = audit_event("alert.unsilence", actor, context.clock(), silence=silence_id)
    await context.apply(Change(alerting=AlertingChange(removed_silence=silence_id), events=[event]))


async def set_notices(context: Context, user: User, given: NoticeSettings, book: RuleBook) -> NoticeSettings:
    """Raises Invalid with all problems."""
    problems = []
    if given.mail and not mail_is_allowed(book, given.mail):
        domains = ", ".join(book.mail_domains)
        hint = f"its domain must be one of {domains}" if domains else ""
        problems.append(Problem("mail", "is not a mail address that this server sends to", hint))
    if given.mail and not book.has_mail:
        problems.append(Problem("mail", "this server has no mail server", "an admin gives it `smtp` in alerts.yaml"))
    if bool(given.webhook_kind) != bool(given.webhook_secret):
        problems.append(Problem("webhook", "webhook and webhookSecret belong together"))
    elif given.webhook_secret:
        problems += await _webhook_problems(context, user, given.webhook_secret, book)
    if problems:
        raise Invalid("the notices cannot be set", problems=tuple(problems))
    now = context.clock()
    settings = replace(given, user_id=user.id, changed_at=now)
    event = audit_event("notice.settings", user.name, now, user=user.name, on=sorted(map(str, settings.topics)))
    store = context.store
    told_until = await store.last_event() if await store.told_until() is None else None
    await context.apply(Change(alerting=AlertingChange(settings=settings, told_until=told_until), events=[event]))
    return settings


async def _webhook_problems(context: Context, user: User, secret: str, book: RuleBook) -> list[Problem]:
    """They never contain the address."""
    address = await webhook_address(context, user.id, secret)
    if address is None:
        hint = f"store the address as a secret: muster secret set {secret}"
        return [Problem("webhookSecret", f"you have no secret {secret!r}", hint)]
    if webhook_is_allowed(book, address):
        return []
    hosts = ", ".join(book.webhook_hosts) or "none"
    hint = f"an address by https at one of these hosts, or by http at one with a port: {hosts}"
    return [Problem("webhookSecret", f"the secret {secret!r} is no address that this server posts to", hint)]


async def clear_notices(context: Context, user: User) -> None:
    event = audit_event("notice.settings", user.name, context.clock(), user=user.name, on=[])
    await context.apply(Change(alerting=AlertingChange(removed_settings=user.id), events=[event]))


async def queue_test_notice(
    context: Context, user: User, settings: NoticeSettings, book: RuleBook
) -> list[QueuedNotice]:
    """One for each way of the user, also in quiet hours. Raises Invalid if the address of a webhook is not allowed."""
    if settings.webhook_secret and (problems := await _webhook_problems(context, user, settings.webhook_secret, book)):
        raise Invalid("no test notice is sent", problems=tuple(problems))
    now, language = context.clock(), settings.language
    title, text = said(language, "test.title"), said(language, "test.text")
    made = [
        QueuedNotice(f"test-{new_id()}", way, user.id, "test", now, title, text, not_before=now, is_urgent=True)
        for way in Recipient(user, settings).ways(book)
    ]
    if not made:
        raise Conflict("you have no way by which notices reach you", hint="muster notices set --mail you@example.org")
    await context.apply(Change(alerting=AlertingChange(notices=made)))
    return made
