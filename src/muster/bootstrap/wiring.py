"""Connects adapters to ports. A new backend is one line here."""

import socket
import sys
from functools import partial

import uvicorn

from muster.backends.local.backend import LocalBackend
from muster.backends.ssh.backend import SshBackend
from muster.backends.ssh.machine_identity import Machine, Machines
from muster.bootstrap.first_run import LOCAL, write_local_context
from muster.bootstrap.home_folder import archive_key, identity
from muster.bootstrap.listening import AnnouncingServer, listen, shown_host
from muster.engine.context import Context
from muster.engine.data.archives import SignedArchives
from muster.engine.data.files import Files
from muster.engine.data.logs import LogReader
from muster.engine.data.packages import PackageShelf
from muster.engine.nodes.fleet import Builder
from muster.engine.requests.accounts import Accounts
from muster.engine.running import running_engine
from muster.engine.state.cluster_settings import Sharing
from muster.exporters.influx import exporting
from muster.lib.gc_tuning import tune_garbage_collector
from muster.server.app import create_app
from muster.server.services import Services
from muster.settings.clusters import ClusterFolder
from muster.settings.kept_files import KeptFiles
from muster.settings.server import ServerSettings
from muster.stores.opening import open_store


async def serve(settings: ServerSettings) -> None:
    listener = listen(settings.host, settings.port)
    url = f"http://{shown_host(settings.host)}:{listener.getsockname()[1]}"
    store = await open_store(settings.database_url)
    address = (settings.public_url or url).rstrip("/")
    archives = SignedArchives(settings.home / "packages", address, archive_key(settings.home))
    clusters = ClusterFolder(settings.clusters_folder, (LOCAL,))
    try:
        context = Context(
            store=store,
            backends={LOCAL: LocalBackend(LOCAL, socket.gethostname(), settings.home / "node", archives)},
            default_cluster=LOCAL,
            logs=settings.home / "logs",
            packages=settings.home / "packages",
            keep_finished_s=settings.keep_finished,
            max_output_bytes=settings.max_output_bytes,
            sharing=Sharing(clusters, KeptFiles(settings.home / "clusters.kept.json", clusters.path)),
        )
        services = Services(
            context,
            Accounts(context, settings.session_lifetime),
            PackageShelf(context, settings.max_package_bytes),
            LogReader(context),
            Files(context),
            archives,
            settings.private_jobs,
        )
        exports = exporting(settings.influx, settings.influx_password, context.backends, context.exports)
        async with running_engine(context, _builders(settings, archives)), exports:
            await write_local_context(settings.home, url, services)
            config = uvicorn.Config(
                create_app(services),
                log_config=None,
                access_log=settings.access_log,
                server_header=False,
                proxy_headers=False,
                lifespan="off",
                ws="none",
                timeout_graceful_shutdown=1,
                timeout_keep_alive=60,
            )
            tune_garbage_collector()
            sys.setswitchinterval(0.001)  # so that a finished commit does not wait long for a busy event loop
            await AnnouncingServer(config, url).serve(sockets=[listener])
    finally:
        await store.close()


def _builders(settings: ServerSettings, archives: SignedArchives) -> dict[str, Builder]:
    """The backends that cluster files can name."""
    own, machines = identity(settings.home), Machines(Machine.of_this_server())
    kept_keys = settings.home / "host-keys"
    return {"ssh": partial(SshBackend, archives=archives, identity=own, host_keys=kept_keys, machines=machines)}
