"""`muster edit`."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from muster.cli.editing.edited_specs import spec_text, with_comments, without_comments
from muster.cli.editing.text_editor import edit, new_file
from muster.cli.failures import Failure, hint_of
from muster.cli.session import connect, say
from muster.cli.shared_options import job_argument, output_option
from muster.cli.tables.output import print_document
from muster.cli.terminal import echo
from muster.cli.transfer_progress import announce_packing, upload_progress
from muster.client.client import Client
from muster.client.errors import BAD_INPUT, MusterError, Problem
from muster.client.handles import JobHandle
from muster.client.submitting import Changes, from_text

_REFUSED = ("invalid", "unplaceable", BAD_INPUT)
_WAITING = ("Queued", "Held")


@click.command()
@job_argument
@output_option("name", "json", "yaml", default="name")
def command(job: str, output: str) -> None:
    """Edit the spec of a job in your editor (VISUAL or EDITOR).

    A job that waits or is held is changed, as by `muster change`. A job that has ended is submitted again as a new job,
    as by `muster retry`. A running job cannot be edited: hold it first.

    Mistakes open the editor again, with what is wrong at the top of the file. To cancel, leave the file as it is or
    empty it. The text is kept in a file, which is named, if it could not be submitted.

    \b
    Examples:
      muster edit mnist
      EDITOR=nano muster edit @last
    """
    client = connect()
    edited = _Editing(client, client.job(job))
    done = edited.run()
    if done is None:
        return
    say(edited.outcome(done))
    if output == "name":
        echo(done.name)
    else:
        print_document(done.view.raw, output)


@dataclass(frozen=True, slots=True)
class _Editing:
    client: Client
    job: JobHandle

    def run(self) -> JobHandle | None:
        """Returns the job that was changed or made, or None if nothing was to be done."""
        comments = self._intent()
        original = self._original()
        path = new_file(self.job.name, with_comments(original, comments))
        try:
            done = self._until_accepted(path, original, comments)
        except Failure as failure:
            _keep(path, original, failure)
            raise
        except BaseException:
            if _is_worth_keeping(path, original):
                say(f"your text is kept in {path}")
            else:
                path.unlink(missing_ok=True)
            raise
        path.unlink(missing_ok=True)
        return done

    def outcome(self, done: JobHandle) -> str:
        if self._is_waiting:
            return f"changed job {done.name}, which is {done.state}"
        return f"submitted job {done.name} again, as the new job {done.id}, which is {done.state}"

    @property
    def _is_waiting(self) -> bool:
        return self.job.state in _WAITING

    def _intent(self) -> list[str]:
        name, state = self.job.name, self.job.state
        if not self._is_waiting and not self.job.view.ended:
            raise Failure(
                f"job {name} is {state}, and can be edited only while it waits or after it has ended",
                hint=f"`muster hold {name}` stops it; then edit it, and `muster resume {name}`",
            )
        what = "is changed" if self._is_waiting else "is submitted again, as a new job,"
        return [
            f"Job {name} is {state}. When you save this file and leave the editor, it {what} with this spec.",
            "To cancel, leave the file as it is or empty it. Lines at the top that begin with # are left out.",
        ]

    def _original(self) -> str:
        template = dict(self.job.specs()["template"])
        if not self._is_waiting:
            template.pop("hold", None)  # a job that runs again is not held again
        return spec_text(template)

    def _until_accepted(self, path: Path, original: str, comments: Sequence[str]) -> JobHandle | None:
        refused: str | None = None
        problem = ""
        while True:
            text = without_comments(edit(path, os.environ))
            if not text.strip():
                say("cancelled: the file is empty; nothing was done")
                return None
            if text == original:
                say("nothing was changed")
                return None
            if text == refused:
                raise Failure(f"the spec was not corrected, so nothing was done: {problem}")
            try:
                return self._submit(text)
            except MusterError as error:
                if error.code not in _REFUSED:
                    raise Failure(error.message, hint=hint_of(error)) from error
                refused, problem = text, error.message
                problems = error.problems or (Problem("", error.message, error.hint),)
                path.write_text(with_comments(text, [*comments, f"{error.message}:"], problems), encoding="utf-8")
                say(f"{error.message}; the editor opens again")

    def _submit(self, text: str) -> JobHandle:
        submission = from_text(text, Path.cwd(), Changes())
        with upload_progress() as progress:
            if self._is_waiting:
                version = self.job.view.raw["version"]
                return self.client.change_to(
                    self.job, submission, version=version, progress=progress, announce=announce_packing
                )
            return self.client.retry_as(self.job, submission, progress=progress, announce=announce_packing)


def _keep(path: Path, original: str, failure: Failure) -> None:
    if not _is_worth_keeping(path, original):
        path.unlink(missing_ok=True)
        return
    kept = f"your text is kept in {path}"
    failure.hint = f"{failure.hint}; {kept}" if failure.hint else kept


def _is_worth_keeping(path: Path, original: str) -> bool:
    try:
        text = without_comments(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return path.exists()
    return bool(text.strip()) and text != original
