"""Connects adapters to ports."""

import sys

import uvicorn

from muster.agent.system.inotify import Inotify
from muster.backends.kinds import Site
from muster.backends.local.cluster_file import LOCAL
from muster.bootstrap.backend_kinds import cluster_kinds
from muster.bootstrap.extensions import guarded_builder, load_extensions
from muster.bootstrap.first_run import write_local_context
from muster.bootstrap.home_folder import archive_key, identity
from muster.bootstrap.listening import AnnouncingServer, listen, shown_host, within_descriptors
from muster.bootstrap.tls import certificate_of, reloading
from muster.domain.clusters import PhysicalCluster
from muster.engine.context import Context
from muster.engine.data.archives import SignedArchives
from muster.engine.data.files import Files
from muster.engine.data.logs import LogReader
from muster.engine.data.packages import PackageStore
from muster.engine.requests.accounts import Accounts
from muster.engine.running import running_engine
from muster.engine.state.cluster_settings import ActiveConfig
from muster.exporters.influx import exporting
from muster.lib.gc_tuning import tune_garbage_collector
from muster.server.app import create_app
from muster.server.bounds import Bounds
from muster.server.connections import ConnectionLimits, bounded_protocol
from muster.server.services import Services
from muster.settings.cluster_config import FileClusterConfig
from muster.settings.clusters import ClusterFolder
from muster.settings.kept_files import KeptFiles
from muster.settings.server import ServerSettings
from muster.stores.opening import open_store


async def serve(settings: ServerSettings) -> None:
    certificate = certificate_of(settings)
    listener = listen(settings.host, settings.port)
    scheme = "http" if certificate is None else "https"
    url = f"{scheme}://{shown_host(settings.host)}:{listener.getsockname()[1]}"
    store = await open_store(settings.database_url)
    address = (settings.public_url or url).rstrip("/")
    archives = SignedArchives(settings.home / "packages", address, archive_key(settings.home))
    extensions = load_extensions()
    limits = within_descriptors(settings.limits.limits())
    clusters = ClusterFolder(settings.clusters_folder, (LOCAL,), cluster_kinds(extensions.backends))
    kept = KeptFiles(settings.home / "clusters.kept.json", clusters.path)
    site = Site(settings.home, identity(settings.home), archives)
    builders = {kind.name: guarded_builder(kind, site) for kind in extensions.backends}
    try:
        context = Context(
            store=store,
            backends={LOCAL: builders[LOCAL](PhysicalCluster(LOCAL, LOCAL))},
            default_cluster=LOCAL,
            logs=settings.home / "logs",
            packages=settings.home / "packages",
            keep_finished_s=settings.keep_finished,
            max_output_bytes=settings.max_output_bytes,
            limits=limits,
            config=ActiveConfig(FileClusterConfig(clusters, kept, Inotify), extensions.problems),
        )
        services = Services(
            context,
            Accounts(context, settings.session_lifetime),
            PackageStore(context, settings.max_package_bytes),
            LogReader(context),
            Files(context),
            archives,
            settings.private_jobs,
            extensions.dialects,
            bounds=Bounds(limits),
            is_always_secure=address.startswith("https:"),
        )
        exports = exporting(settings.influx, settings.influx_password, context.backends, context.exports)

        async def write_context() -> None:
            pinned = certificate.fingerprint if certificate is not None else None
            await write_local_context(settings.home, url, services, pinned)

        async with running_engine(context, builders), exports, reloading(certificate, write_context):
            await write_context()
            config = uvicorn.Config(
                create_app(services),
                log_config=None,
                access_log=settings.access_log,
                server_header=False,
                http=bounded_protocol(ConnectionLimits(services.bounds.connections, settings.trusted_proxies)),
                proxy_headers=bool(settings.trusted_proxies),
                forwarded_allow_ips=[str(network) for network in settings.trusted_proxies],
                lifespan="off",
                ws="none",
                timeout_graceful_shutdown=1,
                timeout_keep_alive=60,
                ssl_context_factory=None if certificate is None else lambda *_: certificate.context,
            )
            tune_garbage_collector()
            sys.setswitchinterval(0.001)  # so that a finished commit does not wait long for a busy event loop
            await AnnouncingServer(config, url, certificate.fingerprint if certificate else None).serve(
                sockets=[listener]
            )
    finally:
        await store.close()
