"""Connects adapters to ports."""

import asyncio
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import uvicorn

from muster.bootstrap.departure import WITHIN_S, Departure
from muster.bootstrap.extensions import load_extensions
from muster.bootstrap.home_folder import warn_if_open
from muster.bootstrap.listening import AnnouncingServer, listen, shown_host, within_descriptors
from muster.bootstrap.parts import Installation
from muster.bootstrap.terms import Terms
from muster.bootstrap.tls import certificate_of
from muster.lib.clock import wall_clock
from muster.lib.gc_tuning import tune_garbage_collector
from muster.lib.ids import new_id, new_secret
from muster.server.bounds import Bounds
from muster.server.connections import MAX_MESSAGE_BYTES, ConnectionLimits, WebSocketProtocol, bounded_protocol
from muster.server.own_process import OwnProcess
from muster.server.role_switch import RoleSwitch
from muster.settings.offers import OfferedClusters, Written
from muster.settings.server import ServerSettings, load_settings
from muster.stores.lease import SqlLease

_LEAVE_WITHIN_S = 5.0
"""How long the engine may take to close its connections at the end. Nothing is lost if it takes longer."""


async def serve(
    settings: ServerSettings, *, has_home_lock: bool, log_file: Path | None = None, exit_within_s: float = WITHIN_S
) -> Sequence[signal.Signals]:
    """Serve until a signal ends the server, and return the signals. The caller raises them again. A signal ends
    the process after `exit_within_s` even if threads are still busy."""
    warn_if_open(settings.home)
    certificate = certificate_of(settings)
    listener = listen(settings.host, settings.port)
    scheme = "http" if certificate is None else "https"
    url = f"{scheme}://{shown_host(settings.host)}:{listener.getsockname()[1]}"
    limits = within_descriptors(settings.limits.limits())
    installation = Installation(
        settings=settings,
        holder=new_id(),
        url=url,
        address=(settings.public_url or url).rstrip("/"),
        extensions=load_extensions(),
        limits=limits,
        bounds=Bounds(limits),
        certificate=certificate,
        has_home_lock=has_home_lock,
        log_file=log_file,
        own_process=_own_process(settings),
        own_offers=_own_offers(settings),
        forwarding_key=new_secret(),
    )
    lease = SqlLease(settings.database_url)
    switch = RoleSwitch()
    terms = Terms(installation, lease, switch)
    running = asyncio.create_task(terms.run(), name="terms")
    measuring = asyncio.create_task(installation.own_process.loop_delay.run(), name="loop delay")
    departure = Departure(settings.home if has_home_lock else None, exit_within_s)
    config = _config(installation, switch)
    server = AnnouncingServer(config, url, installation.fingerprint, departure.begin, terms.login_link)
    running.add_done_callback(lambda _: server.leave())
    try:
        await _first_role(terms, running)
        tune_garbage_collector()
        sys.setswitchinterval(0.001)  # so that a finished commit does not wait long for a busy event loop
        await server.serve(sockets=[listener])
    finally:
        measuring.cancel()
        await _end(running)
        await lease.close()
    return server.signals


def _own_process(settings: ServerSettings) -> OwnProcess:
    kind, _, file = settings.database_url.partition(":///")
    is_file = kind.startswith("sqlite")
    return OwnProcess(
        started_at=wall_clock(),
        database="sqlite" if is_file else "postgresql",
        database_file=Path(file) if is_file else None,
        home=settings.home,
    )


def _own_offers(settings: ServerSettings) -> OfferedClusters:
    file = settings.config_file

    def read_again() -> Written:
        return load_settings({"home": str(settings.home), "config": None if file is None else str(file)}).offers

    return OfferedClusters(settings.home, settings.offers, file, read_again)


def _config(installation: Installation, switch: RoleSwitch) -> uvicorn.Config:
    settings, certificate = installation.settings, installation.certificate
    return uvicorn.Config(
        switch,
        log_config=None,
        access_log=settings.access_log,
        server_header=False,
        http=bounded_protocol(ConnectionLimits(installation.bounds.connections, settings.trusted_proxies)),
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=[str(network) for network in settings.trusted_proxies],
        lifespan="off",
        ws=WebSocketProtocol,
        ws_max_size=MAX_MESSAGE_BYTES,
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=1,
        timeout_keep_alive=60,
        ssl_context_factory=None if certificate is None else lambda *_: certificate.context,
    )


async def _first_role(terms: Terms, running: asyncio.Task[None]) -> None:
    has_role = asyncio.create_task(terms.has_role.wait())
    await asyncio.wait((has_role, running), return_when=asyncio.FIRST_COMPLETED)
    has_role.cancel()
    if running.done():
        running.result()


async def _end(running: asyncio.Task[None]) -> None:
    """An error of the server itself is raised; a cancellation is what was asked for."""
    running.cancel()
    await asyncio.wait((running,), timeout=_LEAVE_WITHIN_S)
    if running.done():
        with suppress(asyncio.CancelledError):
            running.result()
