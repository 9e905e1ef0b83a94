"""What the routes work with. `bootstrap` puts it together and passes it to the application."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from fastapi import Request

from muster.api.jobs import JobOut
from muster.domain.errors import NotAuthenticated, NotFound
from muster.domain.experiments.sweeps import Sweep
from muster.domain.jobs import Job
from muster.domain.tracking import tracking_url
from muster.engine.context import Context
from muster.engine.data.archives import SignedArchives
from muster.engine.data.files import Files
from muster.engine.data.log_lines import LogLines
from muster.engine.data.logs import LogReader
from muster.engine.data.packages import PackageStore
from muster.engine.requests import foreign_jobs
from muster.engine.requests.accounts import Accounts, Principal
from muster.engine.requests.directory_login import DirectoryLogin
from muster.engine.requests.explaining import live_reason
from muster.engine.requests.first_start import FirstStart
from muster.engine.requests.job_usage import usage_so_far
from muster.engine.requests.login_links import LoginLinks
from muster.engine.requests.nearest_jobs import nearest_job
from muster.engine.requests.schedule import LookAhead
from muster.engine.requests.sign_in import SignIn
from muster.engine.requests.simulations import Simulations
from muster.lib.ids import new_secret
from muster.lib.pace import Pace
from muster.lib.recent import Recent
from muster.lib.work_pool import WorkPool
from muster.ports.alerting import AlertSource, NoAlertSource
from muster.ports.log_records import HistorySource
from muster.server.access import CHANGING, Action, may, require_of_job
from muster.server.bounds import Bounds
from muster.server.event_frames import EventFrames
from muster.server.job_hosts import ProxyHosts
from muster.server.job_sessions import ProxySessions
from muster.server.job_sight import Sight, sight_of
from muster.server.own_process import OwnProcess
from muster.server.token_scopes import require_scope, require_token_of
from muster.server.token_watch import TokenWatch
from muster.wire.dialects.detecting import DIALECTS, Dialect
from muster.wire.views import UNTOLD, job_view

COOKIE = "muster_session"
OWN_HEADER = "x-muster-request"
_ID = re.compile(r"[0-9a-hjkmnp-tv-z]{16}")
_TEST_NOTICES = 5


@dataclass(frozen=True, slots=True)
class OwnLog:
    """The log of this very server process."""

    server: str = ""
    is_standby: bool = False
    path: Path | None = None

    def file(self) -> Path:
        """Raises NotFound if the server writes none."""
        if self.path is None:
            raise NotFound(
                "this server writes no log file", hint="set logFile in its settings, or start it with --log-file"
            )
        return self.path


@dataclass(frozen=True, slots=True)
class Services:
    context: Context
    accounts: Accounts
    packages: PackageStore
    logs: LogReader
    log_lines: LogLines
    files: Files
    archives: SignedArchives
    history: HistorySource
    """What the log server has of the jobs of all servers; without one, what this server has of its own."""
    dialects: Sequence[Dialect] = DIALECTS
    """The kinds of job files that may be submitted besides Muster's own."""
    sign_in: SignIn | None = None
    """Logins with an identity provider, if there is one."""
    directory: DirectoryLogin | None = None
    """Logins with passwords that a directory checks, if there is one."""
    linked_token_lifetime_s: float | None = None
    """How long tokens last, at most, of users who are linked to people of a provider."""
    has_password_login: bool = True
    """Whether people may log in with passwords that Muster keeps."""
    public_address: str = ""
    """The address at which people reach the server."""
    max_token_lifetime_s: float | None = None
    has_open_metrics: bool = False
    """Whether /metrics is for everybody."""
    compatibility: frozenset[str] = frozenset()
    """The other systems whose API is answered."""
    is_always_secure: bool = False
    """Whether people reach the server only by HTTPS, as its public address says."""
    own_log: OwnLog = OwnLog()
    own_process: OwnProcess = field(default_factory=OwnProcess)
    bounds: Bounds = field(default_factory=Bounds)
    """What callers have open at once."""
    proxy_hosts: ProxyHosts = field(default_factory=ProxyHosts)
    """The hosts at which pages of jobs are seen."""
    proxy_sessions: ProxySessions = field(default_factory=lambda: ProxySessions(new_secret().encode()))
    """Who looks at pages of jobs."""
    login_links: LoginLinks = field(default_factory=LoginLinks)
    event_frames: EventFrames = field(default_factory=EventFrames)
    token_watch: TokenWatch = field(default_factory=TokenWatch)
    """Ends streams whose tokens are no longer valid."""
    test_notices: Pace = field(default_factory=lambda: Pace(_TEST_NOTICES, 60.0))
    """How often users send themselves test notices."""
    recent_forwards: Recent = field(default_factory=Recent)
    """The users and ports of connections that were recorded a short while ago."""
    first_start: FirstStart = field(default_factory=FirstStart)
    """Whether anybody can log in with a password."""
    look_ahead: LookAhead = field(default_factory=LookAhead)
    """What is expected to start, as the schedule shows it."""
    simulations: Simulations = field(default_factory=Simulations)
    """Past jobs that are replayed under other policies."""
    alerting: AlertSource = field(default_factory=NoAlertSource)
    """The rules of alerts."""
    parsing: WorkPool = field(default_factory=lambda: WorkPool("parsing", threads=2, waiting=16))
    """Reads long requests. It has few threads, because they share one interpreter with the event loop."""

    @property
    def private_jobs(self) -> bool:
        """Whether users see only their own jobs."""
        return self.context.has_private_jobs

    async def find_job(self, principal: Principal, ref: str, action: Action) -> Job:
        """Finds a job by id or by name: the caller's newest of that name, else anybody's newest. A job that the caller
        may not see is refused with the same words as one that never existed, and a token of one job finds no other. A
        job that was made in the engine of a cluster is Conflict: Muster changes none, and has nothing of it but what
        `foreign_job` returns."""
        require_token_of(principal.token, ref)
        if (foreign := self.foreign_job(principal, ref)) is not None:
            raise foreign_jobs.refusal(foreign) if action in CHANGING else foreign_jobs.unreadable(foreign)
        job = await self._look_up(principal, ref)
        if job is None or not may(principal, Action.JOB_SEE, job.owner, private=self.private_jobs):
            if await self._is_sweep(principal, ref):
                hint = (
                    f"`muster sweep describe {ref}` lists its jobs; `muster sweep wait`, `retry` and `stop` act on all"
                )
                raise NotFound(f"{ref} is a sweep, and no job", hint=hint)
            others = foreign_jobs.named(self.context, principal, ref)
            guess = others[0] if others else await nearest_job(self.context, principal, ref)
            hint = f"did you mean {guess}?" if guess else "see `muster get jobs --all`"
            raise NotFound(f"there is no job {ref!r}", hint=hint)
        require_of_job(principal, action, job, private=self.private_jobs)
        return job

    async def find_sweep(self, principal: Principal, ref: str) -> Sweep | None:
        """Finds a sweep like a job: by id, or by name."""
        store = self.context.store
        if _ID.fullmatch(ref):
            try:
                return await store.sweep(ref)
            except NotFound:
                pass
        return await store.find_sweep(principal.name, ref) or await store.find_sweep(None, ref)

    def foreign_job(self, principal: Principal, ref: str) -> foreign_jobs.Found | None:
        """The job that was made in the engine of a cluster and has this id, if the caller may see one."""
        return foreign_jobs.find(self.context, principal, ref)

    def job_view(self, principal: Principal, job: Job) -> JobOut:
        """Builds the view of a job that the caller may see."""
        return self.seen_job_view(job, sight_of(principal, job.owner, private=self.private_jobs) or Sight.OUTLINE)

    def seen_job_view(self, job: Job, sight: Sight) -> JobOut:
        """Builds the view without the reason for people who may not read the job: a fault may quote its log."""
        used = usage_so_far(self.context, job)
        if sight is Sight.OUTLINE:
            return {
                **job_view(job, reason=UNTOLD, used=used),
                "trackingUrl": tracking_url(self.public_address, job.id),
            }
        return {
            **job_view(job, reason=live_reason(self.context, job), used=used),
            "trackingUrl": tracking_url(self.public_address, job.id, job.tracking_url),
        }

    async def _is_sweep(self, principal: Principal, ref: str) -> bool:
        sweep = await self.find_sweep(principal, ref)
        return sweep is not None and may(principal, Action.SWEEP_SEE, sweep.owner, private=self.private_jobs)

    async def _look_up(self, principal: Principal, ref: str) -> Job | None:
        if _ID.fullmatch(ref):
            try:
                return await self.context.store.job(ref)
            except NotFound:
                pass  # sixteen such characters may be a name too
        mine = await self.context.store.find_job(principal.name, ref)
        return mine or await self.context.store.find_job(None, ref)


async def services(request: Request) -> Services:
    """It is asynchronous although it waits for nothing, because FastAPI would run a plain function in a thread for
    every request."""
    return services_of(request)


def services_of(request: Request) -> Services:
    found = request.app.state.services
    assert isinstance(found, Services)
    return found


def sign_in_of(parts: Services) -> SignIn:
    if parts.sign_in is None:
        raise NotFound("this server has no identity provider", hint="log in with a password or a token")
    return parts.sign_in


def address_of(request: Request) -> str:
    """Returns the address that the request came from. A trusted proxy has put the address of its own client here."""
    return request.client.host if request.client is not None else ""


async def authenticated(request: Request) -> Principal:
    """Programs send a bearer token, the page sends a cookie. A foreign page cannot send Muster's header, so a cookie
    alone cannot change anything."""
    accounts = services_of(request).accounts
    header = request.headers.get("authorization")
    if header is not None:
        scheme, _, secret = header.partition(" ")
        if scheme.lower() != "bearer" or not secret:
            raise NotAuthenticated("the Authorization header must be: Bearer TOKEN")
        return _in_scope(request, await accounts.authenticate(secret.strip()))
    secret = _session_in(request)
    if not secret:
        raise NotAuthenticated("log in first", hint="muster login, or send Authorization: Bearer TOKEN")
    if _is_of_another_page(request):
        raise NotAuthenticated("a page of another site cannot use your login")
    if request.method not in ("GET", "HEAD") and OWN_HEADER not in request.headers:
        raise NotAuthenticated("a call by cookie needs the header X-Muster-Request")
    return _in_scope(request, await accounts.authenticate(secret))


def _session_in(request: Request) -> str:
    """Empty if there are several: a page of another host of the same site may have added one of its own, to make people
    work under a login that is not theirs."""
    found = [part.partition("=") for value in request.headers.getlist("cookie") for part in value.split(";")]
    secrets = {value.strip() for name, _, value in found if name.strip() == COOKIE}
    return secrets.pop() if len(secrets) == 1 else ""


def _is_of_another_page(request: Request) -> bool:
    """Whether a page of another origin makes the request, also one of the same site, such as that of a job. Browsers
    say so themselves where the connection is safe; elsewhere their Origin tells it. A proxy may drop our own port."""
    headers = request.headers
    if (site := headers.get("sec-fetch-site")) is not None:
        return site in ("cross-site", "same-site") and headers.get("sec-fetch-mode") != "navigate"
    origin, host = urlsplit(headers.get("origin", "")), headers.get("host", "").lower()
    public = urlsplit(services_of(request).public_address).netloc
    return bool(origin.netloc) and host not in (origin.netloc, origin.hostname) and public != origin.netloc


def _in_scope(request: Request, principal: Principal) -> Principal:
    require_scope(principal.token, request.method, request.url.path)
    return principal
