"""The life of a server: a standby until it gets the lease, then the one that acts until it loses it, and so on."""

import asyncio
from contextlib import aclosing, suppress
from functools import partial

import structlog

from muster.bootstrap.first_run import copy_local_context, write_local_context
from muster.bootstrap.parts import Installation, Parts, build_parts
from muster.bootstrap.site import SharedSite, shared_site
from muster.bootstrap.tls import reloading
from muster.domain.accounts import User
from muster.domain.errors import MusterError, Unavailable
from muster.engine.alerting.rounds import alerting
from muster.engine.context import Context
from muster.engine.data.secrets import warn_of_lost_secrets
from muster.engine.requests.login_links import login_fragment
from muster.engine.requests.work_figures import work_figures
from muster.engine.running import running_engine
from muster.exporters.influx import exporting
from muster.exporters.log_server.delivery import delivering
from muster.exporters.log_server.recording import recorder_of
from muster.ports.lease import NO_EPOCH, Claim, Lease, Term
from muster.server.app import create_app
from muster.server.forwarding import FindHolder, Forwarding, Holder
from muster.server.job_proxy.app import ByHost
from muster.server.passed_on import PassedOn
from muster.server.role_switch import RoleSwitch, answer_unavailable
from muster.server.services import Services
from muster.stores.opening import open_store, prepare_database

_log = structlog.get_logger("server.lease")
RENEW_EVERY_S = 1.0
TRY_AGAIN_S = 1.0
RELEASE_LOOK_S = 0.5
LOOK_EVERY_S = 0.5
"""How often a standby looks whether the lease is free."""


class Terms:
    """`run` goes on until it is cancelled. It then gives the lease back, so that a standby takes over at once."""

    def __init__(self, installation: Installation, lease: Lease, switch: RoleSwitch) -> None:
        self._installation = installation
        self._lease = lease
        self._switch = switch
        self.has_role = asyncio.Event()
        """Set when the server has its first role, so that it can answer."""
        self._owner: tuple[Services, User] | None = None

    def login_link(self) -> str | None:
        """A link that logs a browser in, once, as the user to whom this server's own account belongs."""
        if self._owner is None:
            return None
        services, user = self._owner
        return f"{self._installation.address}/{login_fragment(services.login_links.new(user))}"

    async def run(self) -> None:
        await prepare_database(self._installation.settings.database_url, self._serve_and_sleep)
        while True:
            try:
                await self._take_a_turn()
            except Unavailable as error:
                await self._wait_for_database(error)

    async def _serve_and_sleep(self, seconds: float) -> None:
        """The database is away: the server says so to everybody who asks."""
        self.has_role.set()
        await asyncio.sleep(seconds)

    async def _wait_for_database(self, error: Unavailable) -> None:
        _log.error("the server waits for its database", error=str(error))
        await self._serve_and_sleep(TRY_AGAIN_S)

    async def _take_a_turn(self) -> None:
        found = await self._lease.current()
        own = self._installation
        site = shared_site(found, own.home, has_own_database=own.settings.has_own_database)
        term = await self._lease.acquire(self._claim(site)) or await self._stand_by(found, site)
        try:
            await self._hold(term, site)
        finally:
            self._switch.use(answer_unavailable)
            with suppress(MusterError):
                await self._lease.release(term.epoch)

    def _claim(self, site: SharedSite) -> Claim:
        own = self._installation
        has_lock = own.has_home_lock and site.is_own
        return Claim(own.holder, own.peer_address, site.identity, str(site.home), has_lock, own.forwarding_key)

    # Standby

    async def _stand_by(self, found: Term, site: SharedSite) -> Term:
        """Returns when this server has got the lease."""
        own = self._installation
        known = found
        _log.info("this server is a standby", holder=found.address, epoch=found.epoch)
        store = await open_store(own.settings.database_url, NO_EPOCH)
        try:
            parts = build_parts(own, store, site, NO_EPOCH)

            def holder() -> Holder | None:
                return Holder(known.address, known.key) if known.is_held and known.holder != own.holder else None

            async def write_context() -> None:
                copy_local_context(own.home, own.url, site.home, own.fingerprint)

            await write_context()
            self._switch.use(_forwarding(own, parts, holder))
            self.has_role.set()
            async with reloading(own.certificate, write_context):
                while True:
                    try:
                        known = await self._lease.current()
                        if not known.is_held and (term := await self._lease.acquire(self._claim(site))) is not None:
                            _log.warning("this server takes over", epoch=term.epoch, before=known.address)
                            return term
                    except MusterError as error:
                        _log.warning("the lease cannot be read", error=str(error))
                    await asyncio.sleep(LOOK_EVERY_S)
        finally:
            await store.close()

    # Holder

    async def _hold(self, term: Term, site: SharedSite) -> None:
        """Act until the lease is lost."""
        acting = asyncio.create_task(self._act(term, site), name="term")
        renewing = asyncio.create_task(self._renew(term.epoch), name="lease")
        try:
            await asyncio.wait((acting, renewing), return_when=asyncio.FIRST_COMPLETED)
            if acting.done():
                acting.result()
        finally:
            renewing.cancel()
            acting.cancel()
            await asyncio.gather(acting, renewing, return_exceptions=True)

    async def _act(self, term: Term, site: SharedSite) -> None:
        own = self._installation
        recorder = recorder_of(own.address) if own.settings.log_server is not None else None
        store = await open_store(own.settings.database_url, term.epoch, recorder)
        try:
            parts = build_parts(own, store, site, term.epoch)
            context, influx = parts.context, own.settings.influx
            exports = exporting(
                influx,
                own.settings.influx_password,
                context.backends,
                context.exports,
                partial(work_figures, context),
            )
            records = delivering(own.settings.log_server, own.settings.log_server_token, store, context.log_delivery)

            async def write_context() -> None:
                user = await write_local_context(own.home, own.url, parts.services, own.fingerprint)
                self._owner = None if user is None else (parts.services, user)

            async with (
                running_engine(context, parts.builders),
                exports,
                records,
                alerting(context, parts.services.alerting, own.address),
                reloading(own.certificate, write_context),
                aclosing(parts.services.simulations),
            ):
                await write_context()
                await warn_of_lost_secrets(context)
                whole = ByHost(create_app(parts.services), parts.services)
                self._switch.use(PassedOn(whole, own.forwarding_key, own.own_offers))
                self.has_role.set()
                await _until_released(context)
        finally:
            self._switch.use(answer_unavailable)
            await store.close()

    async def _renew(self, epoch: int) -> None:
        """Returns when another server has the lease. Without a database nobody can take it, so it is tried on."""
        while True:
            await asyncio.sleep(RENEW_EVERY_S)
            try:
                if not await self._lease.renew(epoch, self._installation.peer_address):
                    break
            except MusterError as error:
                _log.warning("the lease is not renewed", error=str(error))
        _log.error("another server has taken over; this one stops to act and becomes a standby", epoch=epoch)


def _forwarding(own: Installation, parts: Parts, holder: FindHolder) -> Forwarding:
    return Forwarding(create_app(parts.services), holder, jobs=parts.services.proxy_hosts, own_offers=own.own_offers)


async def _until_released(context: Context) -> None:
    """Wait for ever, unless the store was restored: then the term ends when an admin has released it, and the next one
    begins as usual."""
    if not context.is_held:
        await asyncio.Event().wait()
    _log.warning("this server is held, because its database was restored: `muster server release` lets it go on")
    while True:
        await asyncio.sleep(RELEASE_LOOK_S)
        with suppress(Unavailable):
            if not await context.store.is_restored():
                _log.warning("this server was released: it schedules jobs again")
                return
