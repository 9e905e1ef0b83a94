"""Sends submissions to the server: first their folders and inputs, then the jobs, all or none.

Files that are missing here are reported together with what the server would refuse.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from muster.client.errors import BAD_INPUT, MusterError
from muster.client.inputs import send_inputs
from muster.client.job_files import located, sorted_by_file
from muster.client.submitting import Changes, Submission, Submittable, missing_files, packed, prepare, refusal
from muster.client.transport import Transport
from muster.client.uploading import Announce, Progress, upload

if TYPE_CHECKING:
    from muster.api.jobs import DryRunOut, JobOut, TranslatedOut

_PROBLEMS_OF_A_JOB = ("invalid", "unplaceable")
_NOWHERE = Path()


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
    ) -> "JobOut":
        self._check_files(submission)
        body = self._uploaded(submission, {}, progress, announce)
        answer: JobOut = self._post(path, {**body, **more}, repeatable=True)
        return answer

    def send_all(
        self, submissions: Sequence[Submission], progress: Progress | None, announce: Announce | None
    ) -> "list[JobOut]":
        self._check_all_files(submissions)
        sent: dict[Path, str] = {}
        bodies = [self._uploaded(one, sent, progress, announce) for one in submissions]
        return self._post_all(bodies, submissions)

    def send_many(self, jobs: Sequence[Submittable]) -> "list[JobOut]":
        prepared = [prepare(job, Changes()) for job in jobs]
        if any("spec" not in one.body or _has_files(one) for one in prepared):
            named = [replace(one, file=_label(job)) for one, job in zip(prepared, jobs, strict=True)]
            return self.send_all(named, None, None)
        specs = [_bulk_spec(one) for one in prepared]
        return list(self._post("/jobs:bulk", {"specs": specs}, repeatable=True)["items"])

    def dry_run(self, submission: Submission) -> "DryRunOut":
        self._check_files(submission)
        with packed(submission):
            return self._planned(submission)

    def dry_run_all(self, submissions: Sequence[Submission]) -> "list[JobOut]":
        self._check_all_files(submissions)
        return self._planned_all(submissions)

    def translated(self, submission: Submission) -> "TranslatedOut":
        answer: TranslatedOut = self._post("/jobs:translate", submission.without_files(), repeatable=True)
        return answer

    def _uploaded(
        self,
        submission: Submission,
        sent: dict[Path, str],
        progress: Progress | None,
        announce: Announce | None,
    ) -> dict[str, Any]:
        """Sends the files of a submission, and returns its body. `sent` has the folders that were sent, by digest."""
        digest = submission.digest or sent.get(submission.folder or _NOWHERE)
        if digest is None:
            with packed(submission, announce) as package:
                if package is not None and submission.folder is not None:
                    upload(self._transport, package, progress)
                    digest = sent[submission.folder] = package.digest
        body = submission.with_package(digest)
        if submission.inputs is not None:
            body["inputs"] = send_inputs(self._transport, submission.inputs, progress, announce)
        return body

    def _planned(self, submission: Submission) -> "DryRunOut":
        plan: DryRunOut = self._post("/jobs", submission.without_files(), repeatable=True, query={"dryRun": True})
        return plan

    def _planned_all(self, submissions: Sequence[Submission]) -> "list[JobOut]":
        return self._post_all([one.without_files() for one in submissions], submissions, query={"dryRun": True})

    def _post_all(
        self, bodies: Sequence[Mapping[str, Any]], submissions: Sequence[Submission], **options: Any
    ) -> "list[JobOut]":
        try:
            answer = self._post("/jobs:bulk", {"jobs": bodies}, repeatable=True, **options)
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
