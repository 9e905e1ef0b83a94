"""Notices to users about their own jobs, as the API answers them."""

from typing import Annotated, TypedDict


class NoticeSettingsOut(TypedDict):
    on: Annotated[list[str], "What you are told: succeeded, failed, cancelled, waiting, alerts."]
    mail: str | None
    webhook: Annotated[str | None, "The kind of webhook or chat: webhook, feishu, dingtalk, wecom or slack."]
    webhookSecret: Annotated[str | None, "The name of your secret with its address."]
    waitingSeconds: Annotated[float, "How long a job waits before you are told."]
    quietHours: Annotated[str | None, "When nothing is sent, as 22:00-07:00."]
    timeZone: str
    language: str
    ways: Annotated[list[str], "The ways by which you are told: those that are set and that this server has."]
    mailOffered: Annotated[bool, "Whether this server sends mails."]
    webhookHosts: Annotated[list[str], "The hosts that the address of a webhook may have."]


class NoticeOut(TypedDict):
    id: str
    way: str
    title: str
    at: str
    dueAt: Annotated[str, "When it may be sent first."]
    sentAt: str | None
    tries: int
    error: Annotated[str, "Why it was not sent, or who did not get it."]


class NoticeList(TypedDict):
    items: list[NoticeOut]
