"""Puts the parts of a server together for one term: as the holder of the lease, or as a standby."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from muster.agent.system.inotify import Inotify
from muster.backends.kinds import Builder, Site
from muster.backends.local.cluster_file import LOCAL
from muster.bootstrap.alert_source import FileAlertSource
from muster.bootstrap.backend_kinds import cluster_kinds
from muster.bootstrap.extensions import Extensions, guarded_builder
from muster.bootstrap.first_run import own_user
from muster.bootstrap.home_folder import archive_key
from muster.bootstrap.sign_in import directory_login_of, linked_token_lifetime, sign_in_of
from muster.bootstrap.simulating import SimulatorProcess
from muster.bootstrap.site import SharedSite
from muster.bootstrap.tls import Certificate
from muster.domain.clusters import PhysicalCluster
from muster.domain.installations import installation_of
from muster.domain.limits import Limits
from muster.engine.context import Context
from muster.engine.data.archives import SignedArchives
from muster.engine.data.files import Files
from muster.engine.data.log_lines import LogLines
from muster.engine.data.logs import LogReader
from muster.engine.data.packages import PackageStore
from muster.engine.requests.accounts import Accounts
from muster.engine.requests.login_links import LoginLinks
from muster.engine.requests.simulations import Simulations
from muster.engine.state.cluster_settings import ActiveConfig
from muster.exporters.log_server.history import LogServerHistory
from muster.exporters.log_server.own_history import OwnHistory
from muster.ports.lease import NO_EPOCH
from muster.ports.log_records import HistorySource
from muster.ports.store import Store
from muster.ports.user_ids import UserIds
from muster.server.bounds import Bounds
from muster.server.job_hosts import ProxyHosts
from muster.server.job_sessions import ProxySessions
from muster.server.offers import OwnOffers
from muster.server.own_process import OwnProcess
from muster.server.services import OwnLog, Services
from muster.settings.cluster_config import FileClusterConfig
from muster.settings.clusters import ClusterFolder
from muster.settings.kept_files import KeptFiles
from muster.settings.secret_keys import SecretKeyFile
from muster.settings.server import ServerSettings
from muster.stores.secret_box import AesSecretBox


@dataclass(frozen=True, slots=True)
class Installation:
    """What stays the same over all terms of a server process."""

    settings: ServerSettings
    holder: str
    url: str
    address: str
    extensions: Extensions
    limits: Limits
    bounds: Bounds
    certificate: Certificate | None
    has_home_lock: bool
    log_file: Path | None
    own_process: OwnProcess
    own_offers: OwnOffers
    """The clusters that people may use through this server."""
    forwarding_key: str = field(repr=False)
    """Signs the requests that a standby passes on to this server."""

    @property
    def home(self) -> Path:
        return self.settings.home

    @property
    def fingerprint(self) -> str | None:
        return self.certificate.fingerprint if self.certificate is not None else None

    @property
    def peer_address(self) -> str:
        """Where a standby reaches this server, with the fingerprint of its present certificate. The public address
        would not do: it may lead to a proxy, which may lead to the standby."""
        address = (self.settings.peer_url or self.url).rstrip("/")
        return f"{address}#{self.fingerprint}" if self.fingerprint else address


@dataclass(frozen=True, slots=True)
class Parts:
    services: Services
    builders: Mapping[str, Builder]

    @property
    def context(self) -> Context:
        return self.services.context


def _secret_keys(settings: ServerSettings, site: SharedSite, own_home: Path) -> SecretKeyFile:
    """Servers without a common home folder may each have a file of their own. One that is missing may be elsewhere."""
    is_apart = not site.is_own and site.home == own_home
    return SecretKeyFile(settings.secrets_key_path, may_be_elsewhere=is_apart or settings.secrets_key_file is not None)


def _user_ids(store: Store) -> UserIds:
    async def user_id(name: str) -> str:
        user = await store.user(name)
        return "" if user is None else user.id

    return user_id


def _history(settings: ServerSettings, store: Store, address: str) -> HistorySource:
    server = settings.log_server
    return OwnHistory(store, address) if server is None else LogServerHistory(server, settings.log_server_token)


def build_parts(installation: Installation, store: Store, site: SharedSite, epoch: int) -> Parts:
    """Nothing is connected yet. `site` says where the data is that all servers share."""
    home, settings, extensions = site.home, installation.settings, installation.extensions
    address = installation.address
    archives = SignedArchives(home / "packages", address, archive_key(home))
    shared = settings.model_copy(update={"home": home})
    folder = shared.clusters_folder
    clusters = ClusterFolder(folder, (LOCAL,), cluster_kinds(extensions.backends))
    kept = KeptFiles(home / "clusters.kept.json", clusters.path)
    log_bytes = installation.limits.log_bytes_per_task
    backend_site = Site(
        home,
        site.identity,
        archives,
        epoch,
        own_user(home),
        log_bytes,
        _user_ids(store),
        output_bytes=settings.max_output_bytes,
    )
    builders = {kind.name: guarded_builder(kind, backend_site) for kind in extensions.backends}
    context = Context(
        store=store,
        backends={LOCAL: builders[LOCAL](PhysicalCluster(LOCAL, LOCAL))},
        default_cluster=LOCAL,
        logs=home / "logs",
        packages=home / "packages",
        keep_finished_s=settings.keep_finished,
        keep_data_s=settings.keep_data,
        max_output_bytes=settings.max_output_bytes,
        limits=installation.limits,
        has_private_jobs=settings.private_jobs,
        public_address=address,
        secret_box=AesSecretBox(_secret_keys(shared, site, installation.home)),
        config=ActiveConfig(
            FileClusterConfig(clusters, kept, Inotify), (*extensions.problems, *site.problems(installation.home))
        ),
    )
    accounts = Accounts(context, settings.session_lifetime)
    logs = LogReader(context)
    services = Services(
        context,
        accounts,
        PackageStore(context, settings.max_package_bytes),
        logs,
        LogLines(context, logs),
        Files(context),
        archives,
        _history(settings, store, address),
        extensions.dialects,
        bounds=installation.bounds,
        sign_in=sign_in_of(settings, context, accounts, address),
        directory=directory_login_of(settings, context, accounts),
        linked_token_lifetime_s=linked_token_lifetime(settings),
        has_password_login=settings.password_login,
        public_address=address,
        proxy_hosts=ProxyHosts((settings.job_url or "").lower()),
        proxy_sessions=ProxySessions(archive_key(home)),
        login_links=LoginLinks(),
        is_always_secure=address.startswith("https:"),
        max_token_lifetime_s=settings.max_token_lifetime,
        has_open_metrics=settings.open_metrics,
        compatibility=frozenset(settings.compatibility),
        simulations=Simulations(SimulatorProcess()),
        alerting=FileAlertSource(shared.alerts_file, installation.certificate),
        own_process=replace(installation.own_process, home=home, installation=installation_of(site.identity)),
        own_log=OwnLog(installation.url, epoch == NO_EPOCH, installation.log_file),
    )
    return Parts(services, builders)
