"""Who calls: the bearer of one of Muster's tokens, or a task, which may report to its own job and nothing else. Cookies
do not count here, so that no page can make such a call."""

import base64
import binascii
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from muster.domain.accounts import Token, TokenScope
from muster.domain.errors import Forbidden, NotAuthenticated, NotFound
from muster.domain.experiments.experiments import DEFAULT_ID, EXPERIMENT_LABEL, Experiment, default_experiment
from muster.domain.jobs import ELSEWHERE, Job
from muster.engine.data.report_tokens import PREFIX, job_of_token
from muster.engine.requests.accounts import Principal
from muster.server.access import Action
from muster.server.services import Services, services_of
from muster.server.token_scopes import require_scope

_JOBS = "/api/v1/jobs"
_RUN = re.compile(r"[0-9a-z]{16}")


@dataclass(frozen=True, slots=True)
class Caller:
    parts: Services
    me: Principal

    @property
    def only_job(self) -> str | None:
        """The one job that the token is for."""
        return self.me.token.job_id

    @property
    def owner(self) -> str | None:
        """The owner whose experiments and runs are found: the caller, or None for all."""
        return None if self.me.is_admin else self.me.name

    def require_reading(self) -> None:
        require_scope(self.me.token, "GET", self._path(_JOBS))

    def require_writing(self) -> None:
        require_scope(self.me.token, "POST", self._path(_JOBS))

    def require_making(self) -> None:
        """A token of one job makes nothing new."""
        if self.only_job is not None:
            raise Forbidden(
                f"this token reports to the run of job {self.only_job} only, and can make no other run or experiment",
                hint=f"report to run {self.only_job}, or use a token of your own: muster tokens create NAME",
            )
        self.require_writing()

    async def run(self, run_id: str, action: Action = Action.JOB_READ) -> Job:
        """The job that is this run. Raises Forbidden and NotFound."""
        if self.only_job is not None and run_id != self.only_job:
            raise Forbidden(f"this token is for run {self.only_job} only")
        require_scope(self.me.token, "GET" if action is Action.JOB_READ else "POST", f"{_JOBS}/{run_id}")
        if _RUN.fullmatch(run_id) is None:
            raise NotFound(f"there is no run {run_id[:64]!r}", hint="a run is known by the id of its job")
        job = await self.parts.find_job(self.me, run_id, action)
        if job.id != run_id:
            raise NotFound(f"there is no run {run_id!r}", hint="a run is known by the id of its job")
        return job

    async def experiment(self, experiment_id: str) -> Experiment:
        """A token of one job finds the experiment of its job only. Raises NotFound."""
        if experiment_id == DEFAULT_ID:
            return default_experiment(self.me.name)
        if self.only_job is not None and experiment_id != await self._only_experiment(self.only_job):
            raise NotFound(f"there is no experiment {experiment_id[:64]!r} for a token of job {self.only_job}")
        is_id = _RUN.fullmatch(experiment_id) is not None
        found = await self.parts.context.store.experiment(experiment_id) if is_id else None
        if found is None or not (self.me.is_admin or found.owner == self.me.name):
            raise NotFound(f"there is no experiment {experiment_id!r}")
        return found

    async def experiments(self, tags: Sequence[str] = ()) -> list[Experiment]:
        """The caller's own, or all for admins, with these tags only. A token of one job knows that of its job, which
        comes first."""
        default = default_experiment(self.me.name)
        if self.only_job is None:
            return [*await self.parts.context.store.experiments(self.owner, tags=tags), default]
        own = await self._only_experiment(self.only_job)
        return [default] if own == DEFAULT_ID else [await self.experiment(own), default]

    async def _only_experiment(self, job_id: str) -> str:
        """The id of the experiment of this job."""
        job = await self.run(job_id)
        return job.spec.labels.get(EXPERIMENT_LABEL, DEFAULT_ID) if job.cluster == ELSEWHERE else DEFAULT_ID

    def _path(self, path: str) -> str:
        return path if self.only_job is None else f"{path}/{self.only_job}"


async def _caller(request: Request) -> Caller:
    parts = services_of(request)
    secret = _secret(request.headers.get("authorization", ""))
    if secret.startswith(PREFIX):
        return Caller(parts, await _task(parts, secret))
    return Caller(parts, await parts.accounts.authenticate(secret))


async def _task(parts: Services, secret: str) -> Principal:
    """A task acts for the owner of its job, and with that job only."""
    job = job_of_token(parts.context, secret)
    user = await parts.context.store.user(job.owner)
    if user is None or user.disabled:
        raise NotAuthenticated(f"{job.owner} may not use this server any more")
    token = Token("", user.name, "task", "", job.created_at, scope=TokenScope.SUBMIT, job_id=job.id)
    return Principal(user, token)


def _secret(header: str) -> str:
    """MLflow's clients send a token, or a user and a password; a token may stand for the password."""
    scheme, _, given = header.partition(" ")
    secret = given.strip()
    if scheme.lower() == "basic":
        try:
            secret = base64.b64decode(secret, validate=True).decode().partition(":")[2]
        except (binascii.Error, UnicodeDecodeError):
            secret = ""
    elif scheme.lower() != "bearer":
        secret = ""
    if not secret:
        raise NotAuthenticated("a token is needed", hint="set MLFLOW_TRACKING_TOKEN to one of `muster tokens create`")
    return secret


Who = Annotated[Caller, Depends(_caller)]
