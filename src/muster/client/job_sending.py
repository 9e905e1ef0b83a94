"""Sends submissions to the server: first their folders and inputs, then the jobs, all or none.

Files that are missing here are reported together with what the server would refuse.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from muster.client.code_origin import labels_of_code, with_labels
from muster.client.errors import BAD_ANSWER, BAD_INPUT, TIMED_OUT, UNREACHABLE, MusterError, unconfirmed
from muster.client.inputs import send_inputs
from muster.client.job_files import located, sorted_by_file
from muster.client.submitting import Changes, Submission, Submittable, missing_files, packed, prepare, refusal
from muster.client.transport import Transport, new_request_key
from muster.client.uploading import Announce, Progress, upload

if TYPE_CHECKING:
    from muster.api.jobs import JobOut, TranslatedOut

_PROBLEMS_OF_A_JOB = ("invalid", "unplaceable")
_NOWHERE = Path()


@dataclass(frozen=True, slots=True)
class SentFolder:
    """`labels` say which commit the code in it is."""

    digest: str
    labels: Mapping[str, str]


JOBS, SWEEPS = "/jobs", "/sweeps"
_MOVES = 5
_ASK_AGAIN_AFTER_S = (0.5, 1.0, 2.0, 3.0, 4.0)
"""So long a server may take to be back, if it has died while it was sent a job."""
T = TypeVar("T")


class JobSender:
    """`post` sends a body to a path of the API and returns the answer."""

    def __init__(self, transport: Transport, post: Callable[..., Any]) -> None:
        self._transport = transport
        self._post = post

    def send(
        self,
        path: str,
        submission: Submission,
        more: Mapping[str, Any],
        progress: Progress | None,
        announce: Announce | None,
    ) -> Any:
        """Only a new job or sweep may go to a server with another store: the others do not know the job that is
        meant."""

        def act() -> Any:
            self._check_files(submission)
            body = self._uploaded(submission, {}, progress, announce)
            return self._submit(path, {**body, **more})

        return self._anywhere(act) if path in (JOBS, SWEEPS) else act()

    def send_all(
        self, submissions: Sequence[Submission], progress: Progress | None, announce: Announce | None
    ) -> "list[JobOut]":
        def act() -> "list[JobOut]":
            self._check_all_files(submissions)
            sent: dict[Path, SentFolder] = {}
            bodies = [self._uploaded(one, sent, progress, announce) for one in submissions]
            return self._post_all(bodies, submissions, self._submit)

        return self._anywhere(act)

    def send_many(self, jobs: Sequence[Submittable]) -> "list[JobOut]":
        prepared = [prepare(job, Changes()) for job in jobs]
        if any("spec" not in one.body or _has_files(one) for one in prepared):
            named = [replace(one, file=_label(job)) for one, job in zip(prepared, jobs, strict=True)]
            return self.send_all(named, None, None)
        specs = [_bulk_spec(one) for one in prepared]
        return list(self._anywhere(lambda: self._submit("/jobs:bulk", {"specs": specs}))["items"])

    def dry_run(self, submission: Submission) -> Any:
        self._check_files(submission)
        with packed(submission):
            return self._planned(submission)

    def dry_run_all(self, submissions: Sequence[Submission]) -> "list[JobOut]":
        self._check_all_files(submissions)
        return self._planned_all(submissions)

    def translated(self, submission: Submission) -> "TranslatedOut":
        answer: TranslatedOut = self._post("/jobs:translate", submission.without_files(), repeatable=True)
        return answer

    def _anywhere(self, act: Callable[[], T]) -> T:
        """Does it at the server in use. If that went away before it can have taken a job, it is done at another one,
        from the beginning: a server with a store of its own has none of the files."""
        for _ in range(_MOVES):
            try:
                return act()
            except MusterError as error:
                if error.code not in (UNREACHABLE, TIMED_OUT) or not self._transport.move_on(error):
                    raise
        return act()

    def _submit(self, path: str, body: Mapping[str, Any]) -> Any:
        """Sends it under a key, again and again if answers are lost, to the same server or to others on its store: the
        key makes one job of them all. To know that a server has no job of this key would not be enough to go to one
        with another store, because the lost request may still be under way. So what remains is said, also if a later
        try was refused: that says nothing about the one whose answer was lost."""
        key = new_request_key()
        answer = self._taken(path, body, key)
        if not isinstance(answer, dict):
            empty = MusterError("the answer names no job", code=BAD_ANSWER)
            raise unconfirmed(self._transport.last_server, key, empty)
        return answer

    def _taken(self, path: str, body: Mapping[str, Any], key: str) -> Any:
        """The answer. A server that died meanwhile may soon be back: it, and no other, is asked again for a while."""
        asked = ""
        lost: MusterError | None = None
        for pause_s in (*_ASK_AGAIN_AFTER_S, 0.0):
            try:
                return self._post(path, body, repeatable=True, key=key, only_at=asked)
            except MusterError as error:
                if lost is None and not error.is_unsure:
                    raise
                asked = asked or self._transport.last_server
                if not pause_s or error.code != UNREACHABLE or not error.reason:
                    why = lost if lost is not None and error.code == UNREACHABLE else error
                    raise unconfirmed(asked, key, why) from error
                if lost is None:
                    self._transport.on_notice(f"{asked} is asked again whether it has taken the job: {error.reason}")
                lost = error
                self._transport.pause(pause_s)
        raise AssertionError("the last turn returns or raises")

    def _uploaded(
        self,
        submission: Submission,
        sent: dict[Path, SentFolder],
        progress: Progress | None,
        announce: Announce | None,
    ) -> dict[str, Any]:
        """Sends the files of a submission, and returns its body. `sent` has the folders that were sent."""
        before = sent.get(submission.folder or _NOWHERE)
        digest = submission.digest or (before.digest if before is not None else None)
        labels = before.labels if before is not None else {}
        if digest is None:
            with packed(submission, announce) as package:
                if package is not None:
                    upload(self._transport, package, progress)
                    digest = package.digest
                    if submission.folder is not None:
                        labels = labels_of_code(submission.folder)
                        sent[submission.folder] = SentFolder(digest, labels)
        body = with_labels(submission.with_package(digest), labels)
        if submission.inputs is not None:
            body["inputs"] = send_inputs(self._transport, submission.inputs, progress, announce)
        return body

    def _planned(self, submission: Submission) -> Any:
        path = SWEEPS if submission.is_sweep else JOBS
        return self._post(path, submission.without_files(), repeatable=True, query={"dryRun": True})

    def _planned_all(self, submissions: Sequence[Submission]) -> "list[JobOut]":
        def ask(path: str, body: Mapping[str, Any]) -> Any:
            return self._post(path, body, repeatable=True, query={"dryRun": True})

        return self._post_all([one.without_files() for one in submissions], submissions, ask)

    def _post_all(
        self,
        bodies: Sequence[Mapping[str, Any]],
        submissions: Sequence[Submission],
        send: Callable[[str, Mapping[str, Any]], Any],
    ) -> "list[JobOut]":
        try:
            answer = send("/jobs:bulk", {"jobs": bodies})
        except MusterError as error:
            raise located(error, submissions) from None
        return list(answer["items"])

    def _check_files(self, submission: Submission) -> None:
        """Raises MusterError if files to be sent are missing, together with all other problems of the job, which the
        server knows. Where it cannot be asked, the missing files are reported alone."""
        missing = missing_files(submission)
        if not missing:
            return
        refused = None
        try:
            self._planned(submission)
        except MusterError as error:
            refused = error if error.code in _PROBLEMS_OF_A_JOB else None
        raise refusal(missing, refused)

    def _check_all_files(self, submissions: Sequence[Submission]) -> None:
        missing = [replace(one, file=part.file) for part in submissions for one in missing_files(part)]
        if not missing:
            return
        refused = None
        try:
            self._planned_all(submissions)
        except MusterError as error:
            refused = error if error.code in _PROBLEMS_OF_A_JOB else None
        found = [*missing, *(refused.problems if refused is not None else ())]
        count = "1 problem" if len(found) == 1 else f"{len(found)} problems"
        raise MusterError(
            f"the jobs have {count}, and none was submitted",
            code=BAD_INPUT,
            problems=sorted_by_file(found, submissions),
            warnings=refused.warnings if refused is not None else (),
        )


def _has_files(submission: Submission) -> bool:
    return submission.folder is not None or any(one.path for one in submission.inputs or ())


def _label(job: Submittable) -> str:
    if isinstance(job, str | Path):
        return str(job)
    return str(job.get("name") or "" if isinstance(job, Mapping) else job.name)


def _bulk_spec(submission: Submission) -> dict[str, Any]:
    spec = dict(submission.body["spec"])
    if submission.inputs:
        spec["inputs"] = [{"source": one.source, "target": one.target} for one in submission.inputs]
    return {**spec, "package": submission.digest} if submission.digest else spec
