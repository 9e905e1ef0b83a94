"""The server's settings: defaults, `config.yaml` in the home folder, MUSTER_* variables, options. The last one wins."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    IPvAnyNetwork,
    PrivateAttr,
    ValidationError,
    model_validator,
)
from pydantic.alias_generators import to_camel

from muster.domain.errors import Invalid
from muster.settings.influx import InfluxSettings, read_password
from muster.settings.ldap import LdapSettings
from muster.settings.limits import LimitSettings
from muster.settings.log_file import LogFileSettings
from muster.settings.log_server import LogServerSettings, read_token
from muster.settings.oidc import OidcSettings
from muster.settings.private_files import read_secret
from muster.settings.secret_keys import NAME as SECRET_KEYS
from muster.settings.server_problems import Sources, settings_problems
from muster.wire.documents import Document, read_document
from muster.wire.spec_schema import Seconds


def _with_unit(value: object) -> object:
    if isinstance(value, int | float) or (isinstance(value, str) and value.strip().replace(".", "").isdigit()):
        raise ValueError(f"{value} what? Write a unit, such as {value}d")
    return value


Retention = Annotated[Seconds, BeforeValidator(_with_unit)]
"""Data is removed after this time, so a number of seconds that was meant as days must not be accepted."""

_VARIABLES = {
    "MUSTER_HOST": "host",
    "MUSTER_PORT": "port",
    "MUSTER_DATABASE": "database",
    "MUSTER_CLUSTERS": "clusters",
    "MUSTER_PRIVATE_JOBS": "privateJobs",
    "MUSTER_STANDBY": "standby",
    "MUSTER_SECRETS_KEY_FILE": "secretsKeyFile",
    "MUSTER_LOG_LEVEL": "logLevel",
    "MUSTER_LOG_FILE": "logFile",
    "MUSTER_LOG_SERVER": "logServer",
}


class ServerSettings(BaseModel):
    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, populate_by_name=True, frozen=True)

    home: Path = Field(description="The folder for all data of the server.")
    host: str = Field("127.0.0.1", description="Address to listen on; this machine only by default.")
    port: int = Field(7070, ge=0, le=65535, description="The port; 0 chooses a free one.")
    database: str | None = Field(None, description="An SQLAlchemy URL; by default, a SQLite file in the home folder.")
    clusters: Path | None = Field(
        None, description="The folder of the cluster files; clusters.d in the home folder by default."
    )
    offers: tuple[Annotated[str, Field(min_length=1)], ...] | Annotated[str, Field(min_length=1)] | None = Field(
        None,
        description="The clusters that people may use through this server: a list of names, or a folder whose files and"
        " folders are the names; all clusters by default. A change counts without a restart.",
    )
    public_url: str | None = Field(
        None,
        pattern=r"^https?://[^\s/]+(/[^\s]*)?$",
        description="The address at which people, and nodes of engines, reach this server; by default, the one it "
        "listens on.",
    )
    job_url: str | None = Field(
        None,
        pattern=r"^https?://\*\.[A-Za-z0-9.-]+(:[0-9]+)?$",
        description="The address at which people see pages of jobs, such as https://*.jobs.example.org: * stands for"
        " a name for each job, and all of them must lead to this server. By default, pages are seen at the server's own"
        " machine only, below http://localhost.",
    )
    peer_url: str | None = Field(
        None,
        pattern=r"^https?://[^\s/]+$",
        description="The address at which other servers on the same database reach this one, not through a proxy; "
        "by default, the one it listens on.",
    )
    tls_cert: Path | None = Field(None, description="A PEM file with the certificate, to serve HTTPS; needs tlsKey.")
    tls_key: Path | None = Field(None, description="The PEM file with the key of the certificate.")
    tls_self_signed: bool = Field(
        False, description="Whether to serve HTTPS with a certificate of the server's own, which clients pin."
    )
    private_jobs: bool = Field(False, description="Whether users see only their own jobs.")
    keep_finished: Retention | None = Field(
        None, description="How long jobs are kept after their end; forever by default."
    )
    keep_data: Retention | None = Field(
        90 * 86400.0,
        description="How long logs, outputs and packages are kept after the end of their job; null means forever.",
    )
    session_lifetime: Seconds = Field(14 * 86400.0, description="How long a login lasts.")
    max_token_lifetime: Seconds | None = Field(None, description="How long a token lasts at most; endless by default.")
    password_login: bool = Field(
        True, description="Whether people may log in with a password that Muster keeps; tokens work anyway."
    )
    oidc: OidcSettings | None = Field(None, description="The OpenID Connect provider that people log in with.")
    ldap: LdapSettings | None = Field(None, description="The LDAP directory whose passwords people log in with.")
    open_metrics: bool = Field(False, description="Whether /metrics needs no token.")
    compatibility: tuple[Literal["openpai", "paddlecloud"], ...] = Field(
        (), description="Other systems whose REST API the server answers as well, for clients that were made for them."
    )
    max_package_bytes: int = Field(4 << 30, description="The maximum size of a code package or input.")
    max_output_bytes: int = Field(20 << 30, ge=0, description="The maximum size of the outputs that are kept of a job.")
    secrets_key_file: Path | None = Field(
        None,
        description="The file with the keys of the secrets; secrets-key in the home folder by default. All servers on"
        " one database need the same keys.",
    )
    influx: InfluxSettings | None = Field(
        None, description="The InfluxDB that node metrics are sent to; none by default."
    )
    log_server: LogServerSettings | None = Field(
        None,
        description="The log server that records of all jobs are sent to: host:port, or {url, tokenFile, caFile,"
        " maxBacklog, alertAfter}; none by default.",
    )
    alerts: Path | None = Field(
        None, description="The file of the rules of alerts; alerts.yaml in the home folder by default."
    )
    limits: LimitSettings = Field(
        LimitSettings(), description="What one user, one address and everybody together may have at once."
    )
    trusted_proxies: tuple[IPvAnyNetwork, ...] = Field(
        (), description="Addresses or networks of proxies whose X-Forwarded-For and X-Forwarded-Proto are believed."
    )
    standby: bool = Field(
        False, description="Whether the server may share the home folder of another one, and replace it when it dies."
    )
    log_level: str = Field("info", pattern="^(debug|info|warning|error)$")
    log_file: LogFileSettings | None = Field(
        None, description="A file that the log is written to besides stderr: a path, or {path, maxSize, keep}."
    )
    access_log: bool = False
    _config_file: Path | None = PrivateAttr(None)

    @model_validator(mode="after")
    def _secrets_can_be_read(self) -> Self:
        _ = self.influx_password, self.oidc_secret, self.ldap_password, self.log_server_token
        return self

    @model_validator(mode="after")
    def _tls_is_complete(self) -> Self:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ValueError("tlsCert and tlsKey must be given together")
        if self.tls_self_signed and self.tls_cert is not None:
            raise ValueError("choose either tlsSelfSigned or tlsCert with tlsKey")
        return self

    @property
    def config_file(self) -> Path | None:
        """The file that the settings were read from, if there was one."""
        return self._config_file

    @property
    def influx_password(self) -> str:
        """The password. It is read when it is needed, so that the settings do not contain it."""
        return read_password(self.influx, self.home) if self.influx else ""

    @property
    def log_server_token(self) -> str:
        """The token of the log server, which the settings do not contain either. It is empty if there is none."""
        return read_token(self.log_server, self.home) if self.log_server else ""

    @property
    def oidc_secret(self) -> str:
        """The client secret, which the settings do not contain either. It is empty for a public client."""
        if self.oidc is None or self.oidc.client_secret_file is None:
            return ""
        return read_secret(self.home / self.oidc.client_secret_file.expanduser(), "client secret")

    @property
    def ldap_password(self) -> str:
        """The password of the account that searches the directory."""
        if self.ldap is None or self.ldap.bind_password_file is None:
            return ""
        return read_secret(self.home / self.ldap.bind_password_file.expanduser(), "password")

    @property
    def database_url(self) -> str:
        return self.database or f"sqlite:///{self.home / 'muster.db'}"

    @property
    def has_own_database(self) -> bool:
        """Whether the database is the file in the home folder, which moves with it."""
        return self.database_url == f"sqlite:///{self.home / 'muster.db'}"

    @property
    def secrets_key_path(self) -> Path:
        """The file with the keys of the secrets; a relative path starts in the home folder."""
        return self.home / (self.secrets_key_file or Path(SECRET_KEYS)).expanduser()

    @property
    def alerts_file(self) -> Path:
        """The rules of alerts, which need not exist; a relative path starts in the home folder."""
        return self.home / (self.alerts or Path("alerts.yaml")).expanduser()

    @property
    def clusters_folder(self) -> Path:
        """The folder of the cluster files; a relative path starts in the home folder."""
        return self.home / (self.clusters or Path("clusters.d")).expanduser()


def home_folder(environ: Mapping[str, str] = os.environ) -> Path:
    return Path(environ.get("MUSTER_HOME") or "~/.muster").expanduser().absolute()


def load_settings(arguments: Mapping[str, Any], environ: Mapping[str, str] = os.environ) -> ServerSettings:
    """Raises Invalid with every problem."""
    home = Path(arguments["home"]).expanduser().absolute() if arguments.get("home") else home_folder(environ)
    config = Path(arguments["config"]) if arguments.get("config") else home / "config.yaml"
    values: dict[str, Any] = {"home": home}
    document = Document({})
    if config.exists():
        document = _file(config)
        values |= _named(document.data)
    elif arguments.get("config"):
        raise Invalid(f"there is no settings file {config}")
    variables = {name: variable for variable, name in _VARIABLES.items() if environ.get(variable)}
    values |= {name: environ[variable] for name, variable in variables.items()}
    options = _named({k: v for k, v in arguments.items() if v is not None and k not in ("home", "config")})
    values |= options
    try:
        settings = ServerSettings.model_validate(values)
        settings._config_file = config
        return settings
    except ValidationError as error:
        written = {name: next(iter(_named({name: None}))) for name in document.data}
        names = {name: key for key, name in written.items()}
        sources = Sources(config, document, names, variables, frozenset(options))
        problems = settings_problems(error, values, ServerSettings, sources)
        raise Invalid("the server's settings are wrong", problems=problems) from None


def load_values(values: Mapping[str, Any]) -> ServerSettings:
    """The settings that are these alone. Raises Invalid with every problem."""
    named = _named(values)
    try:
        return ServerSettings.model_validate(named)
    except ValidationError as error:
        problems = settings_problems(
            error, named, ServerSettings, Sources(Path(), Document({}), {}, {}, frozenset(named))
        )
        raise Invalid("the server's settings are wrong", problems=problems) from None


def _named(values: Mapping[str, Any]) -> dict[str, Any]:
    """Give each setting one name, however it was written, so that a later source overrides an earlier one."""
    aliases = {name: field.alias or name for name, field in ServerSettings.model_fields.items()}
    return {aliases.get(name, name): value for name, value in values.items()}


def _file(path: Path) -> Document:
    try:
        document = read_document(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Invalid(f"cannot read {path}: {error}") from None
    except Invalid as error:
        problems = tuple(replace(problem, file=str(path)) for problem in error.problems)
        raise Invalid(f"cannot read {path}: {error.message}", problems=problems) from None
    if document.data is None:
        return Document({})
    if not isinstance(document.data, dict):
        raise Invalid(f"{path} must be a mapping of settings")
    return document
