"""By what ways a user is told, and when. A user without settings is told nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from muster.domain.accounts import User
from muster.domain.alerting.notices import NoticeSettings, NoticeTopic
from muster.engine.context import Context
from muster.ports.alerting import RuleBook

MAIL = "mail"


@dataclass(frozen=True, slots=True)
class Recipient:
    user: User
    settings: NoticeSettings

    def wants(self, topic: NoticeTopic) -> bool:
        return topic in self.settings.topics and not self.user.disabled

    def ways(self, book: RuleBook) -> tuple[str, ...]:
        mail = (MAIL,) if self.settings.mail and book.has_mail else ()
        return (*mail, *((self.settings.webhook_kind,) if self.settings.webhook_kind else ()))

    def not_before(self, now: float) -> float:
        quiet = self.settings.quiet
        return now if quiet is None else quiet.end_after(now, ZoneInfo(self.settings.time_zone))


async def webhook_address(context: Context, user_id: str, secret: str) -> str | None:
    """What the secret of the user contains; None if there is none."""
    sealed = await context.store.sealed_secrets(user_id, [secret])
    box = context.secret_box
    if not sealed or box is None:
        return None
    return box.open(user_id, secret, sealed[0].sealed).decode("utf-8", "replace").strip()


async def recipients(context: Context) -> Mapping[str, Recipient]:
    """The recipients by the names of users; empty if nobody has settings."""
    settings = {one.user_id: one for one in await context.store.notice_settings()}
    if not settings:
        return {}
    users = await context.store.users()
    return {user.name: Recipient(user, settings[user.id]) for user in users if user.id in settings}
