"""One table says who may do what to whose object. Everything else asks `may`."""

from enum import StrEnum

from muster.domain.errors import Forbidden
from muster.domain.experiments.sweeps import Sweep
from muster.domain.jobs import Job
from muster.engine.requests.accounts import Principal


class Who(StrEnum):
    ANYBODY = "anybody who is logged in"
    OWNER = "the owner or an admin"
    ADMIN = "an admin"


class Action(StrEnum):
    JOB_SUBMIT = "submit a job"
    JOB_IMPORT = "record jobs that ended elsewhere"
    JOB_SEE = "see a job's name, state and resources"
    JOB_READ = "read a job's spec, logs and explanation"
    JOB_STOP = "stop a job"
    JOB_CHANGE = "change a job"
    JOB_RETRY = "retry a job"
    JOB_DELETE = "delete a job"
    JOB_EXEC = "run a command in a job's task"
    JOB_ATTACH = "attach to a job's task"
    JOB_CONNECT = "reach ports of a job's tasks"
    SWEEP_SEE = "see a sweep's name and state"
    SWEEP_READ = "read a sweep's params and members"
    SWEEP_STOP = "stop a sweep"
    MODEL_READ = "read a model"
    MODEL_REMOVE = "remove a model"
    PACKAGE_READ = "read a package"
    PACKAGE_UPLOAD = "upload a package"
    CLUSTER_SEE = "see clusters and nodes"
    NODE_MANAGE = "manage nodes"
    QUOTA_SEE = "see a user's quotas"
    TOKEN_MANAGE = "see and revoke a token"  # noqa: S105
    PASSWORD_CHANGE = "change a password"  # noqa: S105
    SECRET_SEE = "see the name of a secret"  # noqa: S105
    SECRET_REMOVE = "remove a secret"  # noqa: S105
    USER_SEE = "see a user"
    USER_MANAGE = "manage users"
    AUDIT_SEE = "see an audit event"
    CLUSTER_FILES = "read and change cluster files"
    SIMULATION_SEE = "see and remove a simulation"
    ALERT_SEE = "see an alert of a rule"
    ALERT_RULES_SEE = "see the rules and silences of alerts"
    ALERT_MANAGE = "silence alerts"
    SERVER_HEALTH_SEE = "see how the server is"
    SERVER_LOG_READ = "read the server's log"


RIGHTS: dict[Action, Who] = {
    Action.JOB_SUBMIT: Who.ANYBODY,
    Action.JOB_IMPORT: Who.ADMIN,
    Action.JOB_SEE: Who.ANYBODY,
    Action.JOB_READ: Who.OWNER,
    Action.JOB_STOP: Who.OWNER,
    Action.JOB_CHANGE: Who.OWNER,
    Action.JOB_RETRY: Who.OWNER,
    Action.JOB_DELETE: Who.OWNER,
    Action.JOB_EXEC: Who.OWNER,
    Action.JOB_ATTACH: Who.OWNER,
    Action.JOB_CONNECT: Who.OWNER,
    Action.SWEEP_SEE: Who.ANYBODY,
    Action.SWEEP_READ: Who.OWNER,
    Action.SWEEP_STOP: Who.OWNER,
    Action.MODEL_READ: Who.OWNER,
    Action.MODEL_REMOVE: Who.OWNER,
    Action.PACKAGE_READ: Who.OWNER,
    Action.PACKAGE_UPLOAD: Who.ANYBODY,
    Action.CLUSTER_SEE: Who.ANYBODY,
    Action.NODE_MANAGE: Who.ADMIN,
    Action.QUOTA_SEE: Who.OWNER,
    Action.TOKEN_MANAGE: Who.OWNER,
    Action.PASSWORD_CHANGE: Who.OWNER,
    Action.SECRET_SEE: Who.OWNER,
    Action.SECRET_REMOVE: Who.OWNER,
    Action.USER_SEE: Who.OWNER,
    Action.USER_MANAGE: Who.ADMIN,
    Action.AUDIT_SEE: Who.OWNER,
    Action.CLUSTER_FILES: Who.ADMIN,
    Action.SIMULATION_SEE: Who.OWNER,
    Action.ALERT_SEE: Who.OWNER,
    Action.ALERT_RULES_SEE: Who.ADMIN,
    Action.ALERT_MANAGE: Who.ADMIN,
    Action.SERVER_HEALTH_SEE: Who.ADMIN,
    Action.SERVER_LOG_READ: Who.ADMIN,
}
CHANGING = frozenset({Action.JOB_STOP, Action.JOB_CHANGE, Action.JOB_RETRY, Action.JOB_DELETE})
WHEN_PRIVATE: dict[Action, Who] = {**RIGHTS, Action.JOB_SEE: Who.OWNER, Action.SWEEP_SEE: Who.OWNER}


def may(principal: Principal, action: Action, owner: str | None, *, private: bool) -> bool:
    match (WHEN_PRIVATE if private else RIGHTS)[action]:
        case Who.ANYBODY:
            return True
        case Who.OWNER:
            return principal.is_admin or principal.name == owner
        case Who.ADMIN:
            return principal.is_admin


def require(principal: Principal, action: Action, owner: str | None = None) -> None:
    if not may(principal, action, owner, private=False):
        if principal.user.is_admin:
            scope = principal.token.scope
            hint = "log in with `muster login`, or create another token: muster tokens create NAME --scope admin"
            raise Forbidden(f"a token with the scope {scope} can't {action}: it needs the scope admin", hint=hint)
        raise Forbidden(f"{principal.name} can't {action}: only {RIGHTS[action]} can")


def require_of_sweep(principal: Principal, action: Action, sweep: Sweep, *, private: bool) -> None:
    if not may(principal, action, sweep.owner, private=private):
        what = action.replace("a sweep", sweep.name, 1)
        raise Forbidden(f"You can't {what}: it belongs to {sweep.owner}", hint=f"ask {sweep.owner} or an admin")


def require_of_job(principal: Principal, action: Action, job: Job, *, private: bool) -> None:
    if not may(principal, action, job.owner, private=private):
        what = action.replace("a job", job.name, 1)
        raise Forbidden(f"You can't {what}: it belongs to {job.owner}", hint=f"ask {job.owner} or an admin")
