"""How tasks report with MLflow's client to the run of their own job, which asks for it by
`MLFLOW_TRACKING_URI: muster`.

Nothing is set without that: a program that writes to files, or to a server of its own, goes on doing so.
"""

from muster.domain.gangs import Gang
from muster.domain.specs import JobSpec, Role, SecretUse

REPORT_SECRET = ".report-token"  # noqa: S105
"""The name of the token among the values of a launch. No secret of a user can have it."""
_ADDRESS, _OWN_SERVER = "MLFLOW_TRACKING_URI", "muster"


def reports(spec: JobSpec) -> bool:
    """Whether any task of the job does."""
    return any(_reports(spec, role) for role in spec.roles)


def mlflow_secrets(spec: JobSpec, role: Role) -> tuple[SecretUse, ...]:
    return (SecretUse(REPORT_SECRET, env="MLFLOW_TRACKING_TOKEN"),) if _reports(spec, role) else ()


def mlflow_variables(gang: Gang, role: Role, address: str) -> dict[str, str]:
    """`address` is that of the server, as the nodes reach it."""
    return {_ADDRESS: address, "MLFLOW_RUN_ID": gang.job_id} if _reports(gang.spec, role) else {}


def _reports(spec: JobSpec, role: Role) -> bool:
    return role.env.get(_ADDRESS, spec.env.get(_ADDRESS)) == _OWN_SERVER
