"""The settings of a Slurm cluster that only its backend knows."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from muster.backends.logins.options import Login
from muster.backends.slurm.user_logins import UserLogins
from muster.domain.clusters import PhysicalCluster


class Order(StrEnum):
    """Who decides which job starts next."""

    MUSTER = "muster"
    """Muster's virtual clusters: only a few gangs more than fit are handed over."""
    SLURM = "slurm"
    """Slurm: everything is handed over at once."""


class SubmitAs(StrEnum):
    """Says under whose account jobs are in Slurm."""

    SERVICE = "service"
    """Those of the account that the agent on the login node runs under."""
    USER = "user"
    """Those of the user of the same name, by sudo."""
    LOGIN = "login"
    """Those of the account that their owner logs in to, by a connection of its own."""


@dataclass(frozen=True, slots=True)
class SubmitSettings:
    """How jobs are submitted. What is None is left to Slurm."""

    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    constraint: str | None = None
    reservation: str | None = None
    options: tuple[str, ...] = ()
    """Further options of sbatch, each as one word: `--exclusive`, `--nice=100`."""

    def over(self, base: "SubmitSettings") -> "SubmitSettings":
        """These settings, and those of `base` where these say nothing. Options of both hold; the later win."""
        named = ("partition", "account", "qos", "constraint", "reservation")
        changed = {name: getattr(self, name) for name in named if getattr(self, name) is not None}
        return replace(base, **changed, options=(*base.options, *self.options))


@dataclass(frozen=True, slots=True)
class Expected:
    """The versions that the cluster should have. `muster cluster check --connect` compares."""

    slurm: str | None = None
    driver: str | None = None
    cuda: str | None = None
    cudnn: str | None = None


@dataclass(frozen=True, slots=True)
class SlurmOptions:
    login: Login | None = None
    """The login node. None: commands run on the server's own machine."""
    login_python: str = "python3"
    root: str = ""
    """Muster's folder, which the login node and all compute nodes see under this path."""
    is_shared: bool = True
    relay_host: str = ""
    """Where nodes without a shared folder reach the login node. Empty: at its name, and at all of its addresses."""
    relay_port: int = 0
    """0: any port that is free."""
    commands: str = ""
    """The folder of Slurm's commands. Empty: they are in the PATH."""
    conf: str = ""
    """The value of SLURM_CONF, if it has to be set."""
    python: str = "python3"
    """Python 3.8 or newer, on the compute nodes."""
    submit: SubmitSettings = field(default_factory=SubmitSettings)
    virtual: Mapping[str, SubmitSettings] = field(default_factory=dict)
    """What differs for the jobs of a virtual cluster, by its name."""
    env: Mapping[str, str] = field(default_factory=dict)
    modules: tuple[str, ...] = ()
    prolog: tuple[str, ...] = ()
    """Lines of shell that run at the beginning of every batch script."""
    interface: str | None = None
    """The network interface whose address tasks tell each other."""
    mpi: str = "none"
    """What srun is given as --mpi for jobs of the framework mpi."""
    expected: Expected = field(default_factory=Expected)
    order: Order = Order.MUSTER
    head_start: int = 1
    """How many nodes' worth of gangs more than fit may wait in Slurm's queue."""
    submit_as: SubmitAs = SubmitAs.SERVICE
    user_logins: UserLogins = field(default_factory=UserLogins)
    """The logins of users, if jobs are submitted by them."""
    user_root: str = ""
    """Muster's folder of each user's login, in which `${owner}` and `${user}` stand for the user and the account."""
    gpu_models: Mapping[str, str] = field(default_factory=dict)
    """What Muster calls the GPUs of a gres type."""
    gpu_features: Mapping[str, str] = field(default_factory=dict)
    """What Muster calls the GPUs of nodes with a feature, where their gres has no type."""
    poll_s: float = 1.0

    def submit_settings(self, cluster: str) -> SubmitSettings:
        """The settings for jobs of this virtual cluster."""
        own = self.virtual.get(cluster)
        return self.submit if own is None else own.over(self.submit)

    def for_owner(self, owner: str) -> "SlurmOptions | None":
        """These options with the login of this user. None if jobs are submitted by logins, and the user has none."""
        if self.submit_as is not SubmitAs.LOGIN:
            return self
        found = self.user_logins.of(owner, self.login, self.user_root)
        return None if found is None else replace(self, login=found.login, root=found.root)

    def command(self, name: str) -> str:
        return f"{self.commands.rstrip('/')}/{name}" if self.commands else name


def slurm_options(settings: PhysicalCluster) -> SlurmOptions:
    return settings.options if isinstance(settings.options, SlurmOptions) else SlurmOptions()
