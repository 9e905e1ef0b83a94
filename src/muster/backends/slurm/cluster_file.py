"""How a Slurm cluster is written in cluster files."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from muster.backends.logins.cluster_file import Host, HostKey, LoginIn, split_endpoint
from muster.backends.logins.options import Login
from muster.backends.slurm.login.login_problems import login_problems
from muster.backends.slurm.options import Expected, Order, SlurmOptions, SubmitAs, SubmitSettings
from muster.backends.slurm.script.constraints import constraint_problem
from muster.backends.slurm.script.option_values import is_feature, is_gres_type, is_word
from muster.backends.slurm.script.own_options import option_problem
from muster.backends.slurm.user_logins import ACCOUNT, OWNER, LoginPattern, UserLogins
from muster.domain.clusters import PhysicalCluster
from muster.domain.errors import Problem
from muster.settings.cluster_kinds import ClusterKind
from muster.wire.cluster_problems import Parts
from muster.wire.physical_schema import SHARED_PARTS, ServerFile, SharedIn, plain
from muster.wire.spec_schema import Seconds, Strict, Text

HERE = "here"
_OPTION = re.compile(r"--[a-z][a-z-]*(=.*)?")
_PATH = re.compile(r"[\w./+:@,=-]+", re.ASCII)
"""Slurm replaces a `%` in the paths of its options, and ends them at blanks."""
_ACCOUNT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._@+\\-]{0,254}\$?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
Line = Annotated[str, AfterValidator(plain)]


def _word(value: str) -> str:
    if not is_word(value):
        raise ValueError("expected a word without blanks and quotes")
    return value


def _option(value: str) -> str:
    if not _OPTION.fullmatch(value) or not is_word(value):
        raise ValueError("expected one option of sbatch as one word, such as --nice=100")
    if problem := option_problem(value[2:].partition("=")[0]):
        raise ValueError(problem)
    return value


def _constraint(value: str) -> str:
    if problem := constraint_problem(_word(value)):
        raise ValueError(problem)
    return value


def _absolute(value: str) -> str:
    if not plain(value).startswith("/") or ".." in value.split("/"):
        raise ValueError("expected an absolute path without ..")
    return value.rstrip("/")


def _gres_type(value: str) -> str:
    if not is_gres_type(value):
        raise ValueError("expected the type of a gres, such as a100")
    return value


def _feature(value: str) -> str:
    if not is_feature(value):
        raise ValueError("expected a feature of nodes, such as a100")
    return value


def _variables(value: dict[str, str]) -> dict[str, str]:
    for name in value:
        if not _VARIABLE.fullmatch(name):
            raise ValueError(f"expected the name of a variable, not {name!r}")
    return value


def _login(value: Any) -> Any:
    """`here`, or `user@host:port`, which is short for a mapping with `host`."""
    if value == HERE:
        return None
    return split_endpoint(value) if isinstance(value, str) else value


def _relay(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    found = split_endpoint(value)
    if "user" in found:
        raise ValueError("expected host or host:port")
    return found


def _account(value: str) -> str:
    if not _ACCOUNT.fullmatch(value.replace(OWNER, "owner")):
        raise ValueError(f"expected the name of an account, or {OWNER}")
    return value


def _shared_folder(value: str) -> str:
    """It becomes a path of each user only where users have logins: see `login_problems`."""
    if not _PATH.fullmatch(value.replace(OWNER, "owner").replace(ACCOUNT, "user")):
        raise ValueError("expected a path of letters, digits and ._/+:@,=-")
    return value


Word = Annotated[str, AfterValidator(_word)]
Folder = Annotated[str, AfterValidator(_absolute)]
SharedFolder = Annotated[Folder, AfterValidator(_shared_folder)]
GresType = Annotated[str, AfterValidator(_gres_type)]
Feature = Annotated[str, AfterValidator(_feature)]
Variables = Annotated[dict[str, str], AfterValidator(_variables)]


class SubmitIn(Strict):
    """How jobs are submitted. What is absent is left to Slurm."""

    partition: Word | None = Field(None, description="The partition, or several with commas.")
    account: Word | None = Field(None, description="The account that jobs are charged to.")
    qos: Word | None = Field(None, description="The quality of service.")
    constraint: Annotated[str, AfterValidator(_constraint)] | None = Field(
        None, description="Features that nodes must have, as sbatch takes them."
    )
    reservation: Word | None = Field(None, description="The reservation that jobs run in.")
    options: list[Annotated[str, AfterValidator(_option)]] = Field(
        default_factory=list, description="Further options of sbatch, each as one word: --exclusive, --nice=100."
    )

    def settings(self) -> SubmitSettings:
        return SubmitSettings(
            self.partition, self.account, self.qos, self.constraint, self.reservation, tuple(self.options)
        )


class NetworkIn(Strict):
    """The network that tasks of one job talk over."""

    interface: Word | None = Field(None, description="The network interface, such as ib0.")
    env: Variables = Field(default_factory=dict, description="Variables for RDMA libraries, such as NCCL_IB_HCA.")


class ExpectedIn(Strict):
    """The versions that `muster cluster check --connect` compares with what is there."""

    slurm: Text | None = None
    driver: Text | None = Field(None, description="The NVIDIA driver.")
    cuda: Text | None = None
    cudnn: Text | None = None


class SlurmLoginIn(LoginIn):
    """The login node, which the server reaches by SSH."""

    host: Host = Field(description="Name or address, as ssh takes it.")
    host_key: HostKey | None = Field(None, description="Its key; no other is taken.")


class UserLoginIn(Strict):
    """The login of a user. `${owner}` is the user's name in Muster; what is absent is as in `login`."""

    user: Annotated[str, AfterValidator(_account)] = Field(OWNER, description="The account.")
    key_file: ServerFile | None = Field(None, description="A private key on the server.")
    password_file: ServerFile | None = Field(None, description="A file on the server whose first line is the password.")

    def pattern(self) -> LoginPattern:
        return LoginPattern(self.user, self.key_file, self.password_file)


class Relay(Strict):
    """Where compute nodes reach the login node."""

    host: Host
    port: Annotated[int, Field(ge=1, le=65535)] | None = None


class SlurmIn(SharedIn, SubmitIn):
    """A Slurm cluster, which places tasks itself."""

    login: Annotated[SlurmLoginIn | None, BeforeValidator(_login)] = Field(
        None, description=f"Where Slurm's commands run: {HERE}, user@host:port, or a mapping as in an SSH cluster."
    )
    shared_folder: SharedFolder | None = Field(
        None,
        description="A folder that the login node and all compute nodes see under this path. Muster keeps packages, "
        "logs and working directories of jobs there. Without one, nodes connect to the login node.",
    )
    relay_address: Annotated[Relay | None, BeforeValidator(_relay)] = Field(
        None,
        description="Where compute nodes reach the login node if they share no folder with it, as host or host:port. "
        "Without it, they try its name and all of its addresses, at a port that is free.",
    )
    commands: Folder | None = Field(None, description="The folder of Slurm's commands, if it is not in the PATH.")
    conf: Folder | None = Field(None, description="The value of SLURM_CONF, if it has to be set.")
    python: Annotated[str, AfterValidator(plain)] = Field("python3", description="Python 3.8 or newer, on the nodes.")
    virtual_clusters: dict[str, SubmitIn] = Field(
        default_factory=dict, description="What differs for jobs of a virtual cluster, by its name."
    )
    env: Variables = Field(default_factory=dict, description="Variables of every task.")
    modules: list[Word] = Field(default_factory=list, description="Modules that are loaded before every job.")
    prolog: list[Line] = Field(default_factory=list, description="Lines of shell at the beginning of every job.")
    network: NetworkIn = Field(default_factory=NetworkIn, description="The network that tasks talk over.")
    mpi: Word = Field("pmix", description="What srun gets as --mpi for jobs of the framework mpi.")
    expected: ExpectedIn = Field(default_factory=ExpectedIn, description="The versions that the cluster should have.")
    order: Order = Field(
        Order.MUSTER, description="Who decides which job is next: muster, or slurm, which then gets all jobs at once."
    )
    head_start: Annotated[int, Field(ge=0, le=1000)] = Field(
        1, description="With `order: muster`, how many nodes' worth of jobs may wait in Slurm's queue."
    )
    submit_as: SubmitAs = Field(
        SubmitAs.SERVICE,
        description="Whose jobs they are in Slurm: service, user by sudo on the login node, or login, by logins of "
        "their owners. Those of users by sudo connect to the login node, and do not use sharedFolder.",
    )
    logins: dict[str, UserLoginIn] = Field(
        default_factory=dict,
        description="With `submitAs: login`, the logins of users by their names in Muster; `*` is for all others.",
    )
    gpu_models: dict[GresType, str] = Field(
        default_factory=dict, description="What Muster calls the GPUs of a gres type."
    )
    gpu_features: dict[Feature, str] = Field(
        default_factory=dict,
        description="What Muster calls the GPUs of nodes with a feature, where their gres has no type.",
    )
    poll_every: Seconds = Field(1.0, description="How often Slurm is asked at most, while jobs are there.")
    lost_after: Seconds = Field(60.0, description="After so long without an answer, tasks are taken for lost.")


def _complete(cluster: PhysicalCluster, model: SlurmIn) -> PhysicalCluster:
    own_root = model.login.root if model.login is not None else ""
    options = SlurmOptions(
        login=_login_of(model.login),
        login_python=model.login.python if model.login is not None else "python3",
        root=own_root if model.submit_as is SubmitAs.LOGIN else model.shared_folder or own_root,
        # Files of several accounts in one folder would have to be readable by all of them.
        is_shared=model.shared_folder is not None and model.submit_as is not SubmitAs.USER,
        relay_host=model.relay_address.host if model.relay_address is not None else "",
        relay_port=(model.relay_address.port if model.relay_address is not None else None) or 0,
        commands=model.commands or "",
        conf=model.conf or "",
        python=model.python,
        submit=model.settings(),
        virtual={name: own.settings() for name, own in model.virtual_clusters.items()},
        env={**model.network.env, **model.env},
        modules=tuple(model.modules),
        prolog=tuple(model.prolog),
        interface=model.network.interface,
        mpi=model.mpi,
        expected=Expected(**model.expected.model_dump()),
        order=model.order,
        head_start=model.head_start,
        submit_as=model.submit_as,
        user_logins=UserLogins({owner: one.pattern() for owner, one in model.logins.items()}),
        user_root=model.shared_folder or own_root,
        gpu_models=dict(model.gpu_models),
        gpu_features=dict(model.gpu_features),
        poll_s=model.poll_every,
    )
    return replace(cluster, lost_after_s=model.lost_after, options=options)


def _login_of(model: SlurmLoginIn | None) -> Login | None:
    if model is None:
        return None
    return Login(
        host=model.host,
        port=model.port,
        user=model.user,
        key_file=model.key_file,
        password_file=model.password_file,
        jump=model.jump,
        host_keys=model.host_keys,
        host_key=model.host_key,
    )


def _problems(model: SlurmIn) -> Iterable[Problem]:
    return [
        *_poll_problems(model),
        *login_problems(
            model.submit_as,
            {owner: one.pattern() for owner, one in model.logins.items()},
            has_login_node=model.login is not None,
            shared_folder=model.shared_folder or "",
            relay_port=model.relay_address.port if model.relay_address is not None else None,
        ),
    ]


def _poll_problems(model: SlurmIn) -> Iterator[Problem]:
    if model.poll_every <= 0:
        yield Problem("pollEvery", "must be more than 0", "for example 1s")


_PARTS: Parts = {
    **SHARED_PARTS,
    "login": SlurmLoginIn,
    "logins": UserLoginIn,
    "relayAddress": Relay,
    "virtualClusters": SubmitIn,
    "network": NetworkIn,
    "expected": ExpectedIn,
}
SLURM_CLUSTERS = ClusterKind("slurm", SlurmIn, _PARTS, _complete, _problems)
