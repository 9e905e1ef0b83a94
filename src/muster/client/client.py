"""`Client`: every call of the REST API as a method.

What only some commands need is imported where it is used. A short command would otherwise spend more time on imports
than on its request.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from muster.client import contexts
from muster.client.errors import BAD_INPUT, NOT_FOUND, MusterError
from muster.client.handles import JobHandle, job_events
from muster.client.transport import API, Query, Request, Timeouts, Transport, as_json, new_request_key, segment
from muster.client.uploading import Announce, Progress
from muster.client.views import EventView, JobView

if TYPE_CHECKING:
    from pathlib import Path

    from muster.api.accounts import LoginOut, WhoAmIOut
    from muster.api.dry_runs import DryRunOut
    from muster.api.experiments import BestsOut, RunsOut
    from muster.api.history import HistoryJobOut, HistoryPage
    from muster.api.job_metrics import JobMetricsOut
    from muster.api.jobs import JobOut, TranslatedOut
    from muster.api.nodes import NodeAddedOut
    from muster.api.notices import NoticeSettingsOut
    from muster.api.server_health import ServerHealth
    from muster.api.server_log import ServerLogPage
    from muster.api.sweeps import SweepDryRunOut
    from muster.api.usage import UsageHistory, UsageOut, UsageSample
    from muster.api.usage_report import ReportOut
    from muster.client.account_views import SecretView, TokenView, UserView
    from muster.client.alert_views import NoticeView, RuleAlertView, SilenceView
    from muster.client.cluster_views import QuotaView, VirtualClusters, VirtualClusterView
    from muster.client.environment_views import EnvironmentListing, EnvironmentPackagesView, EnvironmentTestView
    from muster.client.files import Files
    from muster.client.job_sending import JobSender
    from muster.client.model_views import ModelView
    from muster.client.node_exec import CommandPiece, CommandResult
    from muster.client.node_views import ClusterView, NodeView
    from muster.client.submitting import Submission, Submittable
    from muster.client.sweep_views import MemberView, SweepView
    from muster.client.template_views import TemplateView

_PAGE = 1000
_SWEEPS = 200
_RUNS = 100
"""The `limit` of `GET /experiments` if none is given."""
_PREFIX_CHARACTERS = 4  # shorter ones are more likely a mistyped name


class Client:
    """The platform, from Python. Safe to share between threads: each has its own connection.

        from muster import Client, Job

        client = Client()                                    # as `muster` on this machine would
        job = client.submit(Job(name="mnist", command=["python", "train.py"], replicas=2))
        print(job.wait().state)

    Arguments come first, then MUSTER_SERVER and MUSTER_TOKEN, then the context file that `muster login` writes. Several
    servers are separated by commas: the first one that is alive is used.
    """

    def __init__(
        self,
        server: str | None = None,
        token: str | None = None,
        context: str | None = None,
        *,
        timeouts: Timeouts | None = None,
    ) -> None:
        def locate() -> contexts.Context:
            return contexts.resolve(server, token, context)

        chosen = locate()
        self.transport = Transport.to(chosen, timeouts, locate)

    @property
    def server(self) -> str:
        return self.transport.server

    @cached_property
    def files(self) -> "Files":
        from muster.client.files import Files

        return Files(self.transport)

    @cached_property
    def _sender(self) -> "JobSender":
        from muster.client.job_sending import JobSender

        return JobSender(self.transport, self._post)

    # -- jobs ---------------------------------------------------------------------------------------------------

    def submit(
        self,
        job: "Submittable",
        *,
        overrides: Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> JobHandle:
        """Submits a `Job`, a spec as a dict, or the path of a YAML or JSON file; its package folder is sent first.

            client.submit("job.yaml", overrides={"roles.worker.replicas": 4}, params={"lr": 0.01})

        A lost answer is asked for again under the same key, so one call makes one job. Raises MusterError; its
        `problems` name everything wrong with the spec.
        """
        from muster.client.submitting import Changes, prepare

        return self.send(prepare(job, Changes(overrides or {}, params or {})), progress=progress)

    def send(
        self,
        submission: "Submission",
        *,
        progress: Progress | None = None,
        announce: Announce | None = None,
    ) -> JobHandle:
        """Submits what `prepare` returned; `announce` is called before a folder is packed."""
        return self._handle(self._sender.send("/jobs", submission, {}, progress, announce))

    def change_to(
        self,
        job: JobHandle,
        submission: "Submission",
        *,
        version: int | None = None,
        progress: Progress | None = None,
        announce: Announce | None = None,
    ) -> JobHandle:
        """Gives a waiting job the spec of a submission. If somebody else has changed it since `version`, that is a
        MusterError with code `conflict`."""
        more = {} if version is None else {"version": version}
        return self._handle(self._sender.send(f"/jobs/{segment(job.id)}/change", submission, more, progress, announce))

    def retry_as(
        self,
        job: JobHandle,
        submission: "Submission",
        *,
        progress: Progress | None = None,
        announce: Announce | None = None,
    ) -> JobHandle:
        """Submits an ended job again with the spec of a submission, as a new job of the same owner."""
        return self._handle(self._sender.send(f"/jobs/{segment(job.id)}/retry", submission, {}, progress, announce))

    def dry_run(self, submission: "Submission") -> "DryRunOut":
        """Returns the job that would be created, and the exact requests that would start it. Nothing is sent, stored or
        started; a folder is packed nevertheless, because whether that works is part of the answer."""
        plan: DryRunOut = self._sender.dry_run(submission)
        return plan

    def translated(self, submission: "Submission") -> "TranslatedOut":
        """Returns the spec that a job file of another system becomes. Nothing is sent but the text of the file."""
        return self._sender.translated(submission)

    def submit_many(self, jobs: "Sequence[Submittable]") -> list[JobHandle]:
        """Submits many jobs in one call, all or none. They may name each other in `after`, in any order.

        client.submit_many(["prep.yaml", Job(name="train", command="python train.py", after="prep")])
        """
        return [self._handle(item) for item in self._sender.send_many(jobs)]

    def send_all(
        self,
        submissions: "Sequence[Submission]",
        *,
        progress: Progress | None = None,
        announce: Announce | None = None,
    ) -> list[JobHandle]:
        """Submits what `prepare` returned, all or none. Raises MusterError with the problems of all of them, each with
        its file."""
        return [self._handle(item) for item in self._sender.send_all(submissions, progress, announce)]

    def dry_run_all(self, submissions: "Sequence[Submission]") -> "list[JobOut]":
        """Returns the jobs that would be created. Nothing is sent, stored or started."""
        return self._sender.dry_run_all(submissions)

    def made_by(self, request_key: str) -> list[JobView]:
        """Returns the jobs that a request of yours with this key has made: of one whose answer was lost, an error names
        the key."""
        return [JobView.of(item) for item in self._get(f"/requests/{segment(request_key)}")["items"]]

    def import_ended(self, source: str, jobs: Sequence[Mapping[str, Any]]) -> int:
        """Records jobs that ended in another system, all or none, and returns how many of them are new. Each has `id`,
        `spec`, `state`, `createdAt`, `endedAt`, and may have `startedAt`, `reason` and `fault`. Admins only."""
        answer = self._post("/jobs:import", {"source": source, "jobs": list(jobs)}, repeatable=True)
        return int(answer["imported"])

    def job(self, ref: str) -> JobHandle:
        """Finds a job by id, by a unique prefix of an id, by name (your newest first), or by `@last`, your newest."""
        if ref == "@last":
            return self._last()
        if not ref:
            raise MusterError("the job's name is empty", code=BAD_INPUT, hint="`muster get jobs` lists names and ids")
        try:
            return self._handle(self._get(f"/jobs/{segment(ref)}"))
        except MusterError as error:
            if error.code != NOT_FOUND:
                raise
            return self._by_prefix(ref, error)

    def jobs(self, *, limit: int | None = None, **filters: Any) -> Iterator[JobView]:
        """Newest first. Filters: state, owner (`me`), cluster, vc, label, text, name, since, until, and
        origin="others" for jobs that were made in a cluster itself.

        for job in client.jobs(state=["Running", "Queued"], owner="me", since="7d"):
            print(job.name, job.state)
        """
        left = limit
        cursor: str | None = None
        while left is None or left > 0:
            page, cursor = self.jobs_page(limit=min(left or _PAGE, _PAGE), cursor=cursor, **filters)
            yield from page
            left = None if left is None else left - len(page)
            if not cursor:
                return

    def count_jobs(self, **filters: Any) -> int:
        """How many jobs match, with the filters of `jobs`; 100,000 if there are more."""
        return int(self._get("/jobs", {**filters, "limit": 1, "total": True}).get("total") or 0)

    def jobs_page(
        self, *, limit: int = 50, cursor: str | None = None, **filters: Any
    ) -> tuple[list[JobView], str | None]:
        """Returns one page, and the cursor of the next one if there is one."""
        answer = self._get("/jobs", {**filters, "limit": limit, "cursor": cursor})
        return [JobView.of(item) for item in answer["items"]], answer.get("nextCursor")

    def server_log(self, *, tail: int = 100) -> "ServerLogPage":
        """Returns the last entries of the server's own log, oldest first. Only admins may read it."""
        page: ServerLogPage = self._get("/server/log", {"tail": tail})
        return page

    def follow_server_log(self, cursor: str) -> Iterator[dict[str, Any]]:
        """Yields the entries of the server's own log after a cursor, as they are written."""
        from muster.client.sse import read_events

        request = Request("GET", f"{API}/server/log", {"follow": True, "cursor": cursor})
        for event in read_events(self.transport, request, follow=True):
            yield json.loads(event.data)

    def events(self, *, follow: bool = False, after: int | None = None, kind: str | None = None) -> Iterator[EventView]:
        """Yields the events of the platform, oldest first; with `follow` it never ends."""
        return job_events(self.transport, f"{API}/events", follow=follow, after=after, kind=kind)

    def last_event(self) -> int:
        """Returns the number of the newest event, or 0 if there is none. It searches by bisection instead of reading
        them all."""
        below, above = 0, 1
        while self._happened_after(above - 1):
            below, above = above, above * 2
        while above - below > 1:
            middle = (below + above) // 2
            below, above = (middle, above) if self._happened_after(middle - 1) else (below, middle)
        return below

    # -- machines -----------------------------------------------------------------------------------------------

    def nodes(self, cluster: str | None = None) -> "list[NodeView]":
        from muster.client.node_views import NodeView

        return [NodeView.of(item) for item in self._get("/nodes", {"cluster": cluster})["items"]]

    def node(self, ref: str) -> "NodeView":
        """Finds a node by name, or as `CLUSTER/NODE` if two clusters have a node of that name, as all methods below
        do."""
        from muster.client.node_views import NodeView

        path, query = _node_path(ref)
        return NodeView.of(self._get(path, query))

    def cordon_node(self, ref: str, reason: str = "") -> "NodeView":
        """Places no new task on the node; running tasks continue."""
        return self._node_act(ref, "cordon", {"reason": reason})

    def uncordon_node(self, ref: str) -> "NodeView":
        """Ends a cordon or a drain."""
        return self._node_act(ref, "uncordon")

    def drain_node(self, ref: str, reason: str = "", *, now: bool = False) -> "NodeView":
        """Cordons the node and lets it become empty as its tasks end; with `now`, its jobs go back to the queue at
        once."""
        return self._node_act(ref, "drain", {"reason": reason, "now": now})

    def reconnect_node(self, ref: str, *, forget_host_key: bool = False) -> "NodeView":
        """Connects to the node again. With `forget_host_key`, the key that the host presents now replaces the stored
        one."""
        return self._node_act(ref, "reconnect", query={"forgetHostKey": True} if forget_host_key else {})

    def run_on_node(
        self, ref: str, command: Sequence[str], *, timeout: str | float = "10m"
    ) -> "Iterator[CommandPiece | CommandResult]":
        """Runs a command on a node and yields its output as it arrives, then how it ended. Admins only."""
        from muster.client.node_exec import stream_command

        path, query = _node_path(ref)
        return stream_command(self.transport, f"{API}{path}/exec", query, command, timeout)

    def add_node(self, cluster: str, name: str, ssh: str, **fields: Any) -> "NodeAddedOut":
        """Adds a node; `ssh` is [user@]host[:port]. Fields: keyFile, password, jump, hostKeys, hostKey, address,
        interface, python, root, labels. Admins only."""
        body = {"name": name, "ssh": ssh, **fields}
        added: NodeAddedOut = self._post(f"/clusters/{segment(cluster)}/nodes", body)
        return added

    def remove_node(self, name: str, cluster: str | None = None) -> None:
        """Removes a node that `add_node` added. Admins only."""
        self.transport.json(Request("DELETE", f"{API}/nodes/{segment(name)}", {"cluster": cluster}))

    def clusters(self) -> "list[ClusterView]":
        from muster.client.node_views import ClusterView

        return [ClusterView.of(item) for item in self._items("/clusters")]

    def virtual_clusters(self) -> "VirtualClusters":
        """Returns the virtual clusters that you may use, and, for admins, what is wrong with the present settings."""
        from muster.client.cluster_views import VirtualClusters

        return VirtualClusters.of(self._get("/virtual-clusters"))

    def virtual_cluster(self, name: str) -> "VirtualClusterView":
        from muster.client.cluster_views import VirtualClusterView

        return VirtualClusterView.of(self._get(f"/virtual-clusters/{segment(name)}"))

    def quotas(self, user: str | None = None) -> "list[QuotaView]":
        """Returns limits and their usage: those of virtual clusters, and those of you, of a user, or, for admins, of
        everybody."""
        from muster.client.cluster_views import QuotaView

        return [QuotaView.of(item) for item in self._get("/quotas", {"user": user})["items"]]

    def environments(self, cluster: str | None = None, node: str | None = None) -> "EnvironmentListing":
        """Lists what clusters offer as `runtime`: of one cluster or all, on one node or all."""
        from muster.client.environment_views import EnvironmentListing

        return EnvironmentListing.of(self._get("/environments", {"cluster": cluster, "node": node}))

    def test_environment(
        self, name: str, cluster: str | None = None, node: str | None = None
    ) -> "list[EnvironmentTestView]":
        """Imports its frameworks on each node that offers it. This takes up to a minute; allow for it with
        `timeouts`."""
        from muster.client.environment_views import EnvironmentTestView

        body = {"name": name, "cluster": cluster, "node": node}
        return [EnvironmentTestView.of(item) for item in self._post("/environments:test", body)["items"]]

    def environment_packages(
        self, name: str, cluster: str | None = None, node: str | None = None
    ) -> "list[EnvironmentPackagesView]":
        """Lists what is installed in an environment, on each node that offers it. This takes up to a minute; allow for
        it with `timeouts`."""
        from muster.client.environment_views import EnvironmentPackagesView

        query = {"name": name, "cluster": cluster, "node": node}
        return [EnvironmentPackagesView.of(item) for item in self._get("/environments:packages", query)["items"]]

    def usage(self) -> "UsageOut":
        """Returns what nodes and tasks use at this moment."""
        usage: UsageOut = self._get("/usage")
        return usage

    def node_usage(self, ref: str, since: str | None = None) -> "list[UsageSample]":
        """Returns how busy a node was in the last few minutes, the oldest sample first; `since` is a time, or an age
        such as 1m."""
        path, query = _node_path(ref)
        history: UsageHistory = self._get(f"{path}/usage", {**query, "since": since})
        return history["items"]

    def queue(
        self, cluster: str | None = None, owner: str | None = None, limit: int = 200
    ) -> tuple[list[JobView], int]:
        """Returns the jobs that run, then those that wait, in the order in which they will start, and how many there
        are. Each has its `position` in `raw`."""
        answer = self._get("/queue", {"cluster": cluster, "owner": owner, "limit": limit})
        return [JobView.of(item) for item in answer["items"]], answer["total"]

    def report(
        self, since: str = "30d", until: str | None = None, by: str = "user", idle_below: float = 10.0
    ) -> "ReportOut":
        """Returns what was used in a window of time, by user, vc, node or cluster: of your own jobs, or, for admins, of
        all."""
        query = {"since": since, "until": until, "by": by, "idleBelow": idle_below}
        report: ReportOut = self._get("/report", query)
        return report

    def history(self, query: "Mapping[str, str | None]") -> "HistoryPage":
        """Returns a page of what the log server knows of jobs: of yours, or, for admins, of all. `all` is `true` for
        the jobs of all servers; the others are the filters of `GET /history`."""
        page: HistoryPage = self._get("/history", query)
        return page

    def runs(self, query: Query) -> "RunsOut":
        """Returns jobs as experiments: with parameters, metrics and what they used. The query is that of
        `GET /experiments`; if an answer has no room for as many as its `limit`, the pages that follow are read, too."""
        found: RunsOut = self._get("/experiments", query)
        left = int(str(query.get("limit", _RUNS))) - len(found["items"])
        while left > 0 and (cursor := found.get("nextCursor")):
            page: RunsOut = self._get("/experiments", {**query, "limit": left, "cursor": cursor})
            found = {**page, "items": [*found["items"], *page["items"]]}
            left -= len(page["items"])
        return found

    def best_runs(self, query: Query) -> "BestsOut":
        """Returns the best jobs by a metric. The query is that of `GET /experiments/best`."""
        found: BestsOut = self._get("/experiments/best", query)
        return found

    def metrics(self, job: str, query: Query) -> "JobMetricsOut":
        """Returns the metrics that a job has reported."""
        found: JobMetricsOut = self._get(f"/jobs/{segment(job)}/metrics", query)
        return found

    def history_job(self, receiver: str, job_id: str) -> "HistoryJobOut":
        """Returns a job of any server with all its records."""
        found: HistoryJobOut = self._get(f"/history/{segment(receiver)}/{segment(job_id)}")
        return found

    def server_health(self, *, of_acting: bool = False) -> "ServerHealth":
        """Returns how the server is; for admins. A standby can ask the server that acts."""
        health: ServerHealth = self._get("/server/health", {"acting": "true"} if of_acting else None)
        return health

    def schema(self) -> dict[str, Any]:
        """Returns the JSON Schema of the job spec."""
        return dict(self._get("/schema"))

    # -- people -------------------------------------------------------------------------------------------------

    def whoami(self) -> "WhoAmIOut":
        """Returns the caller's name and role, and the version of the server."""
        answer: WhoAmIOut = self._get("/whoami")
        return answer

    def login(self, user: str, password: str, *, name: str | None = None) -> "LoginOut":
        """Exchanges a password for a token: {token, user, role, expiresAt}. Later calls of this client use the
        token."""
        body = {"user": user, "password": password, **({"name": name} if name else {})}
        self.transport.token = None
        answer: LoginOut = self._post("/login", body)
        self.transport.token = answer["token"]
        return answer

    def login_link(self) -> str:
        """Returns a link that logs the first browser that opens it in as the caller, within minutes."""
        return str(self._post("/login/link", {})["url"])

    def logout(self) -> None:
        """Revokes the token that this client uses."""
        self._post("/logout", {})

    def users(self) -> "list[UserView]":
        from muster.client.account_views import UserView

        return [UserView.of(item) for item in self._items("/users")]

    def add_user(
        self, name: str, role: str = "user", password: str | None = None, *, groups: Sequence[str] = ()
    ) -> "UserView":
        from muster.client.account_views import UserView

        body = {"name": name, "role": role, "groups": list(groups), **({"password": password} if password else {})}
        return UserView.of(self._post("/users", body))

    def change_user(self, name: str, **changes: Any) -> "UserView":
        """Changes `role`, `password` (with `oldPassword` for your own), `disabled` or `groups` of a user."""
        from muster.client.account_views import UserView

        data, headers = as_json(changes)
        request = Request("PATCH", f"{API}/users/{segment(name)}", body=data, headers=headers)
        return UserView.of(self.transport.json(request))

    def remove_user(self, name: str) -> None:
        self.transport.json(Request("DELETE", f"{API}/users/{segment(name)}"))

    def link_user(self, name: str, subject: str, issuer: str | None = None) -> None:
        """Lets the person of an identity provider (that of the server if `issuer` is absent) log in as this user."""
        self._post(f"/users/{segment(name)}/identities", {"subject": subject, **({"issuer": issuer} if issuer else {})})

    def unlink_user(self, name: str, subject: str | None = None) -> None:
        """Removes one link of the user to an identity provider, or all."""
        path = f"{API}/users/{segment(name)}/identities"
        self.transport.json(Request("DELETE", path, {"subject": subject}))

    def tokens(self) -> "list[TokenView]":
        from muster.client.account_views import TokenView

        return [TokenView.of(item) for item in self._items("/tokens")]

    def create_token(
        self,
        name: str,
        *,
        expires: str | None = None,
        user: str | None = None,
        scope: str | None = None,
        job: str | None = None,
    ) -> "TokenView":
        from muster.client.account_views import TokenView

        optional = {"user": user, "scope": scope, "job": job}
        body = {"name": name, "expires": expires, **{key: value for key, value in optional.items() if value}}
        return TokenView.of(self._post("/tokens", body))

    def revoke_token(self, token_id: str) -> None:
        self.transport.json(Request("DELETE", f"{API}/tokens/{segment(token_id)}"))

    # -- alerts and notices ---------------------------------------------------------------------------------------

    def rule_alerts(self, *, pending: bool = False) -> "list[RuleAlertView]":
        """The alerts of rules that fire now: all for admins, else those of your own jobs."""
        from muster.client.alert_views import RuleAlertView

        return [RuleAlertView.of(item) for item in self._get("/alerts/firing", {"pending": pending})["items"]]

    def alert_history(
        self, *, since: str | None = None, rule: str | None = None, limit: int = 200
    ) -> "list[RuleAlertView]":
        """The alerts of rules that fired since then, newest first; of the last week by default."""
        from muster.client.alert_views import RuleAlertView

        query: Query = {"since": since, "rule": rule, "limit": limit}
        return [RuleAlertView.of(item) for item in self._get("/alerts/history", query)["items"]]

    def silences(self) -> "list[SilenceView]":
        from muster.client.alert_views import SilenceView

        return [SilenceView.of(item) for item in self._items("/alerts/silences")]

    def alert_file_problems(self) -> list[str]:
        """What is wrong with the file of rules of alerts; for admins."""
        return list(self._get("/alerts/rules", {}).get("problems") or ())

    def silence_alerts(self, rule: str, subject: str, *, duration: str, reason: str = "") -> "SilenceView":
        """Tells nobody of alerts that match, for so long."""
        from muster.client.alert_views import SilenceView

        body = {"rule": rule, "subject": subject, "for": duration, "reason": reason}
        return SilenceView.of(self._post("/alerts/silences", body))

    def unsilence_alerts(self, silence_id: str) -> None:
        self.transport.json(Request("DELETE", f"{API}/alerts/silences/{segment(silence_id)}"))

    def notice_settings(self) -> "NoticeSettingsOut":
        """What you are told about your jobs, and by what ways."""
        found: NoticeSettingsOut = self._get("/notices/settings", {})
        return found

    def set_notice_settings(self, settings: Mapping[str, Any]) -> "NoticeSettingsOut":
        """Replaces all settings."""
        body, headers = as_json(settings)
        request = Request("PUT", f"{API}/notices/settings", body=body, headers=headers)
        found: NoticeSettingsOut = self.transport.json(request)
        return found

    def clear_notice_settings(self) -> None:
        self.transport.json(Request("DELETE", f"{API}/notices/settings"))

    def notices(self, *, admins: bool = False, limit: int = 50) -> "list[NoticeView]":
        """The notices to you, or to the admins, newest first."""
        from muster.client.alert_views import NoticeView

        query: Query = {"admins": admins, "limit": limit}
        return [NoticeView.of(item) for item in self._get("/notices", query)["items"]]

    def send_test_notice(self) -> "list[NoticeView]":
        from muster.client.alert_views import NoticeView

        return [NoticeView.of(item) for item in self._post("/notices/test", {})["items"]]

    # -- secrets -------------------------------------------------------------------------------------------------

    def secrets(self) -> "list[SecretView]":
        """Your secrets, without their values; for admins, everybody's."""
        from muster.client.account_views import SecretView

        return [SecretView.of(item) for item in self._items("/secrets")]

    def set_secret(self, name: str, value: bytes | str) -> "SecretView":
        """Stores a value, or replaces it. No call returns it again."""
        from muster.client.account_views import SecretView

        body = value.encode() if isinstance(value, str) else value
        request = Request(
            "PUT", f"{API}/secrets/{segment(name)}", {}, body, {"Content-Type": "application/octet-stream"}
        )
        return SecretView.of(self.transport.json(request))

    def delete_secret(self, name: str, *, owner: str | None = None) -> None:
        query: Query = {"owner": owner} if owner else {}
        self.transport.json(Request("DELETE", f"{API}/secrets/{segment(name)}", query))

    # -- sweeps ---------------------------------------------------------------------------------------------------

    def submit_sweep(
        self,
        job: "Submittable",
        *,
        overrides: Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> "SweepView":
        """Submits a file or a spec that has `sweep` in it, however many members it has."""
        from muster.client.submitting import Changes, prepare

        return self.send_sweep(prepare(job, Changes(overrides or {}, params or {})), progress=progress)

    def send_sweep(
        self, submission: "Submission", *, progress: Progress | None = None, announce: Announce | None = None
    ) -> "SweepView":
        from muster.client.sweep_views import SweepView

        return SweepView.of(self._sender.send("/sweeps", submission, {}, progress, announce))

    def dry_run_sweep(self, submission: "Submission") -> "SweepDryRunOut":
        """Returns how many members there would be, the first few, and what would be started for the first."""
        plan: SweepDryRunOut = self._sender.dry_run(submission)
        return plan

    def sweeps(self, *, limit: int | None = None, **filters: Any) -> "Iterator[SweepView]":
        """Newest first. Filters: owner (`me`), open."""
        from muster.client.sweep_views import SweepView

        left, cursor = limit, None
        while left is None or left > 0:
            page = self._get("/sweeps", {**filters, "limit": min(left or _SWEEPS, _SWEEPS), "cursor": cursor})
            yield from map(SweepView.of, page["items"])
            left = None if left is None else left - len(page["items"])
            cursor = page.get("nextCursor")
            if not cursor:
                return

    def sweep(self, ref: str) -> "SweepView":
        """One sweep, by id or name, with the best of its members if it has a metric."""
        from muster.client.sweep_views import SweepView

        return SweepView.of(self._get(f"/sweeps/{segment(ref)}"))

    def sweep_members(self, ref: str, *, state: Sequence[str] = (), limit: int | None = None) -> "Iterator[MemberView]":
        """The members that are jobs by now, in order of their numbers."""
        from muster.client.sweep_views import MemberView

        left, after = limit, 0
        while left is None or left > 0:
            query: Query = {"state": list(state), "after": after, "limit": min(left or _PAGE, _PAGE)}
            page = self._get(f"/sweeps/{segment(ref)}/members", query)
            yield from map(MemberView.of, page["items"])
            left = None if left is None else left - len(page["items"])
            after = page.get("nextMember")
            if not after:
                return

    def stop_sweep(self, ref: str) -> "SweepView":
        """Makes no more members, and stops those that have not ended."""
        from muster.client.sweep_views import SweepView

        return SweepView.of(self._post(f"/sweeps/{segment(ref)}/stop", {}))

    # -- models ---------------------------------------------------------------------------------------------------

    def register_model(
        self, job: str, path: str, name: str, *, description: str = "", attempt: int | None = None
    ) -> "ModelView":
        """Keeps a file or folder of a job's outputs as a new version of the model. The same again changes nothing."""
        from muster.client.model_views import ModelView

        body = {"job": job, "path": path, "name": name, "description": description, "attempt": attempt}
        return ModelView.of(self._post("/models", body, repeatable=True))

    def models(self, name: str | None = None, *, owner: str | None = None) -> "list[ModelView]":
        """The newest version of each of your models, or all versions of one."""
        from muster.client.model_views import ModelView

        return [ModelView.of(item) for item in self._get("/models", {"name": name, "owner": owner})["items"]]

    def model(self, name: str, version: int | None = None, *, owner: str | None = None) -> "ModelView":
        """One version of a model, or the newest, with its files."""
        from muster.client.model_views import ModelView

        return ModelView.of(self._get(f"/models/{segment(name)}", {"version": version, "owner": owner}))

    def download_model(
        self, model: "ModelView", folder: "str | Path", *, progress: Progress | None = None
    ) -> "list[Path]":
        """Fetches the files of a model into the folder, each checked. What is there already is not fetched again."""
        from pathlib import Path

        from muster.client.output_transfers import download_all

        return download_all(
            self.transport, f"{API}/models/{segment(model.id)}/files", model.files, Path(folder), progress
        )

    def delete_model(self, name: str, version: int | None = None, *, owner: str | None = None) -> None:
        """Deletes a version of a model with its files, or without a version all of them."""
        query: Query = {"version": version, "all": True if version is None else None, "owner": owner}
        self.transport.json(Request("DELETE", f"{API}/models/{segment(name)}", query))

    # -- templates ------------------------------------------------------------------------------------------------

    def templates(self) -> "list[TemplateView]":
        """The newest versions of the templates that you may use, without their files."""
        from muster.client.template_views import TemplateView

        return [TemplateView.of(item) for item in self._items("/templates")]

    def template(self, name: str, version: int | None = None) -> "TemplateView":
        """One version of a template, or the newest, with its files."""
        from muster.client.template_views import TemplateView

        return TemplateView.of(self._get(f"/templates/{segment(name)}", {"version": version}))

    def publish_template(
        self,
        name: str,
        files: Mapping[str, str],
        *,
        description: str = "",
        group: str = "",
        everyone: bool = False,
    ) -> "TemplateView":
        """Publishes a new version. `files` are texts by path, and `job.yaml` is the job."""
        from muster.client.template_views import TemplateView

        body = {"files": dict(files), "description": description, "group": group, "everyone": everyone}
        data, headers = as_json(body)
        request = Request("PUT", f"{API}/templates/{segment(name)}", body=data, headers=headers)
        return TemplateView.of(self.transport.json(request))

    def remove_template(self, name: str) -> None:
        """Removes all versions of a template of yours."""
        self.transport.json(Request("DELETE", f"{API}/templates/{segment(name)}"))

    # -- plumbing -----------------------------------------------------------------------------------------------

    def _get(self, path: str, query: Query | None = None) -> Any:
        return self.transport.json(Request("GET", API + path, query or {}))

    def _post(
        self,
        path: str,
        body: Any,
        *,
        repeatable: bool = False,
        query: Query | None = None,
        key: str | None = None,
        only_at: str = "",
    ) -> Any:
        data, headers = as_json(body)
        headers["Idempotency-Key"] = key or new_request_key()
        return self.transport.json(Request("POST", API + path, query or {}, data, headers, repeatable, only_at=only_at))

    def _node_act(self, ref: str, what: str, body: Any = None, query: Mapping[str, Any] | None = None) -> "NodeView":
        from muster.client.node_views import NodeView

        path, of_cluster = _node_path(ref)
        answer = self._post(f"{path}/{what}", body if body is not None else {}, query={**of_cluster, **(query or {})})
        return NodeView.of(answer)

    def _happened_after(self, seq: int) -> bool:
        answer = self._get("/events", {"after": seq, "limit": 1})
        return bool(answer["items"] or answer.get("nextCursor"))

    def _items(self, path: str) -> list[Any]:
        """Returns all pages of a short list."""
        items: list[Any] = []
        cursor = None
        while True:
            answer = self._get(path, {"cursor": cursor})
            items += answer["items"]
            cursor = answer.get("nextCursor")
            if not cursor:
                return items

    def _handle(self, raw: "JobOut") -> JobHandle:
        return JobHandle(self.transport, JobView.of(raw))

    def _last(self) -> JobHandle:
        page, _ = self.jobs_page(limit=1, owner="me")
        if not page:
            raise MusterError("you have no job yet", code=NOT_FOUND, hint="`muster run -- COMMAND` makes one")
        return JobHandle(self.transport, page[0])

    def _by_prefix(self, ref: str, not_found: MusterError) -> JobHandle:
        """Searches the newest thousand jobs; older ones need their whole id."""
        if len(ref) < _PREFIX_CHARACTERS:
            raise not_found
        page, _ = self.jobs_page(limit=_PAGE)
        found = [job for job in page if job.id.startswith(ref)]
        if not found:
            raise not_found
        if len(found) > 1:
            names = ", ".join(f"{job.id} ({job.name})" for job in found[:5])
            raise MusterError(f"{ref!r} begins {len(found)} ids", code=BAD_INPUT, hint=f"they are {names}")
        return JobHandle(self.transport, found[0])


def _node_path(ref: str) -> tuple[str, dict[str, str | None]]:
    cluster, slash, name = ref.rpartition("/")
    return f"/nodes/{segment(name)}", {"cluster": cluster if slash else None}
