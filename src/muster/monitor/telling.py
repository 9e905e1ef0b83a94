"""Says a story in one language: title, plain text, HTML with everything escaped, and data for programs."""

from dataclasses import asdict, dataclass
from datetime import datetime
from html import escape
from typing import assert_never
from zoneinfo import ZoneInfo

from muster.lib.quantities import about_duration
from muster.monitor.digest_page import digest_html, digest_pictures, digest_text, digest_title
from muster.monitor.reason_text import reason_text
from muster.monitor.stories import DigestStory, FailureStory, RecoveryStory, Story, TrialStory
from muster.monitor.words import Language, Words
from muster.ports.notifying import Notice, NoticeKind


@dataclass(frozen=True, slots=True)
class Teller:
    """`host` is the machine of the monitor. Times are those of `zone`."""

    language: Language
    zone: str
    host: str

    def notice(self, story: Story) -> Notice:
        words = Words(self.language)
        match story:
            case FailureStory():
                return self._plain(story, NoticeKind.FAILURE, *self._failure(story, words), words)
            case RecoveryStory():
                return self._plain(story, NoticeKind.RECOVERY, *self._recovery(story, words), words)
            case TrialStory():
                lines = [words.say("test.text", receivers=", ".join(story.receivers))]
                return self._plain(story, NoticeKind.TEST, words.say("test.title"), lines, words)
            case DigestStory():
                return self._digest(story, words)
            case _:
                assert_never(story)

    def _failure(self, story: FailureStory, words: Words) -> tuple[str, list[str]]:
        title = (
            words.say("failure.title.one", receiver=story.items[0].receiver)
            if len(story.items) == 1
            else words.say("failure.title.many", count=len(story.items), watched=story.watched)
        )
        lines = [
            words.say(
                "failure.item",
                receiver=item.receiver,
                url=item.url,
                since=self._time(item.since),
                reason=reason_text(item.reason, words),
            )
            for item in story.items
        ]
        return title, [*lines, words.say("failure.next")]

    def _recovery(self, story: RecoveryStory, words: Words) -> tuple[str, list[str]]:
        first = story.items[0]
        title = (
            words.say("recovery.title.one", receiver=first.receiver, lasted=about_duration(first.lasted_s))
            if len(story.items) == 1
            else words.say("recovery.title.many", count=len(story.items))
        )
        lines = [
            words.say(
                "recovery.item",
                receiver=item.receiver,
                url=item.url,
                since=self._time(item.since),
                lasted=about_duration(item.lasted_s),
                reason=reason_text(item.reason, words),
            )
            for item in story.items
        ]
        still = ", ".join(story.still_down)
        return title, [*lines, words.say("recovery.still", receivers=still) if still else words.say("recovery.all")]

    def _plain(self, story: Story, kind: NoticeKind, title: str, lines: list[str], words: Words) -> Notice:
        ending = words.say("notice", id=story.id, host=self.host)
        html = "".join(f"<p>{escape(line)}</p>" for line in lines) + f"<p><small>{escape(ending)}</small></p>"
        text = "\n\n".join([*lines, ending]) + "\n"
        return Notice(story.id, kind, title, text, story.at, html, data=asdict(story))

    def _digest(self, story: DigestStory, words: Words) -> Notice:
        ending = words.say("notice", id=story.id, host=self.host)
        pictures = digest_pictures(story)
        since, until = self._time(story.since), self._time(story.at)
        window = words.say("digest.window", since=since, until=until)
        text = f"{digest_text(story, words, window)}\n{ending}\n"
        html = digest_html(story, words, window, ending, pictures)
        title = digest_title(story, words, self._time(story.at))
        return Notice(story.id, NoticeKind.DIGEST, title, text, story.at, html, pictures, asdict(story))

    def _time(self, instant: float) -> str:
        return datetime.fromtimestamp(instant, ZoneInfo(self.zone)).strftime("%Y-%m-%d %H:%M:%S %Z")
