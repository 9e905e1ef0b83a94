"""`muster notices`: what users are told about their own jobs."""

from datetime import datetime
from typing import Any

import click

from muster.cli.lazy_group import Group
from muster.cli.session import connect, say
from muster.cli.shared_options import complete_secrets, output_option
from muster.cli.tables.output import print_document, print_list, print_pairs
from muster.cli.tables.text_tables import Column
from muster.client.alert_views import NoticeView
from muster.lib.counting import counted

_TOPICS = ("succeeded", "failed", "cancelled", "waiting", "alerts")
_KINDS = ("webhook", "feishu", "dingtalk", "wecom", "slack")


def _state(notice: NoticeView) -> str:
    if notice.sent_at is not None:
        return "sent"
    return (
        "not sent" if notice.error and not notice.tries else f"waits, {notice.tries} tries" if notice.tries else "waits"
    )


_COLUMNS: list[Column[NoticeView]] = [
    Column("CREATED", lambda one: _moment(one.at)),
    Column("BY", lambda one: one.way),
    Column("STATE", _state),
    Column("TITLE", lambda one: one.title),
    Column("PROBLEM", lambda one: one.error),
]


@click.group(cls=Group)
def command() -> None:
    """Choose what you are told about your own jobs, and how.

    Mails go to the address that you give. The address of a webhook or a chat is a secret: store it with `muster secret
    set`, and name that secret here. Which hosts it may be on, an admin decides.

    \b
    Examples:
      muster notices set --mail amy@example.org --on failed --on waiting --waiting 30m
      muster notices set --mail amy@example.org --on failed --quiet 22:00-07:00 --time-zone Asia/Shanghai
      muster notices test
    """


@command.command()
@output_option("table", "json", "yaml")
def show(output: str) -> None:
    """Show what you are told, and by what ways.

    \b
    Example:
      muster notices show
    """
    _print(connect().notice_settings(), output)


@command.command("set")
@click.option("--on", "topics", multiple=True, type=click.Choice(_TOPICS), help="What you want to be told; repeatable.")
@click.option("--mail", metavar="ADDRESS", help="The mail address; an empty one for no mails.")
@click.option("--webhook", type=click.Choice([*_KINDS, "none"]), help="What receives the notices at the address.")
@click.option("--webhook-secret", metavar="NAME", shell_complete=complete_secrets, help="Your secret with the address.")
@click.option("--waiting", metavar="DURATION", help="How long a job waits before you are told: 30m; at least 1m.")
@click.option("--quiet", metavar="FROM-TO", help="When nothing is sent: 22:00-07:00; an empty text for never.")
@click.option("--time-zone", metavar="ZONE", help="Where the quiet hours hold: Asia/Shanghai.")
@click.option("--language", type=click.Choice(["en", "zh"]), help="The language of the notices.")
@output_option("table", "json", "yaml")
def set_notices(
    topics: tuple[str, ...],
    mail: str | None,
    webhook: str | None,
    webhook_secret: str | None,
    waiting: str | None,
    quiet: str | None,
    time_zone: str | None,
    language: str | None,
    output: str,
) -> None:
    """Change what you are told. What is not given stays as it is.

    \b
    Examples:
      muster notices set --mail amy@example.org --on succeeded --on failed
      muster notices set --webhook slack --webhook-secret my-slack
      muster notices set --quiet 22:00-07:00 --time-zone Europe/Berlin
    """
    client = connect()
    now = client.notice_settings()
    changed: dict[str, Any] = {
        "on": list(topics) or now["on"] or ["failed"],
        "mail": now["mail"] if mail is None else mail or None,
        "webhook": now["webhook"] if webhook is None else None if webhook == "none" else webhook,
        "webhookSecret": now["webhookSecret"] if webhook_secret is None else webhook_secret,
        "waiting": now["waitingSeconds"] if waiting is None else waiting,
        "quietHours": now["quietHours"] if quiet is None else quiet or None,
        "timeZone": time_zone or now["timeZone"],
        "language": language or now["language"],
    }
    if changed["webhook"] is None:
        changed["webhookSecret"] = None
    _print(client.set_notice_settings(changed), output)


@command.command()
def clear() -> None:
    """Be told nothing any more.

    \b
    Example:
      muster notices clear
    """
    connect().clear_notice_settings()
    say("you are told nothing any more")


@command.command()
def test() -> None:
    """Send yourself a test notice by each of your ways.

    \b
    Example:
      muster notices test
    """
    made = connect().send_test_notice()
    say(f"a test notice is on its way by {' and '.join(notice.way for notice in made)}: see `muster notices list`")


@command.command("list")
@click.option("--admins", is_flag=True, help="The notices to the admins instead; admins only.")
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="How many at most.")
@output_option("table", "json", "yaml")
def list_notices(admins: bool, limit: int, output: str) -> None:
    """List notices to you: those that wait, and those that were sent or given up lately.

    \b
    Examples:
      muster notices list
      muster notices list --admins -o json
    """
    print_list(connect().notices(admins=admins, limit=limit), _COLUMNS, output, name="id")


def _print(settings: Any, output: str) -> None:
    if output != "table":
        print_document(settings, output)
        return
    hosts = ", ".join(settings["webhookHosts"]) or "none"
    print_pairs(
        [
            ("Told of", ", ".join(settings["on"]) or "nothing"),
            ("By", " and ".join(settings["ways"]) or "no way"),
            ("Mail", settings["mail"] or ("none" if settings["mailOffered"] else "this server sends no mails")),
            ("Webhook", settings["webhook"]),
            ("Its secret", settings["webhookSecret"]),
            ("Webhooks may be at", hosts),
            ("Waiting longer than", counted(settings["waitingSeconds"] / 60, "minute")),
            ("Quiet", settings["quietHours"]),
            ("Time zone", settings["timeZone"]),
            ("Language", settings["language"]),
        ]
    )


def _moment(at: datetime | None) -> str:
    return "" if at is None else at.astimezone().strftime("%Y-%m-%d %H:%M")
