"""Passwords that an LDAP directory checks. The person binds; nothing else proves a password."""

import math
import ssl
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import structlog
from ldap3 import NONE, SUBTREE, Connection, Server, Tls
from ldap3.core.exceptions import LDAPException, LDAPInvalidDnError
from ldap3.utils.conv import escape_filter_chars
from ldap3.utils.dn import escape_rdn, parse_dn

from muster.domain.errors import Unavailable
from muster.domain.sign_in import Person
from muster.identity.claims import valid_groups, valid_name
from muster.lib.work_pool import PoolFull, WorkPool
from muster.settings.ldap import LdapSettings

_log = structlog.get_logger("identity")
_WRONG = (49, 32, 34, 53, 19, 50)
"""The bind was refused: wrong password, no such entry, no possible entry, account locked, constraint, no rights."""
_MAX_GROUPS = 1000
Attributes = dict[str, list[Any]]


class LdapDirectory:
    """Every login has a connection of its own, on threads that are used for nothing else."""

    def __init__(self, settings: LdapSettings, bind_password: str, ca_file: Path | None = None) -> None:
        self._settings = settings
        self._bind_password = bind_password
        self._tls = Tls(validate=ssl.CERT_REQUIRED, ca_certs_file=None if ca_file is None else str(ca_file))
        self._pool = WorkPool("ldap", threads=4, waiting=32)

    @property
    def issuer(self) -> str:
        return f"ldap:{self._settings.name}"

    async def person(self, name: str, password: str) -> Person | None:
        if not valid_name(name) or not password:
            return None  # a bind without a password succeeds at many directories, and proves nothing
        try:
            return await self._pool.run(self._person, name, password)
        except PoolFull:
            raise Unavailable(
                "too many people are logging in right now", hint="try again in a moment", retry_after_s=2.0
            ) from None
        except (LDAPException, OSError) as error:
            _log.warning("the directory cannot be used", url=self._settings.url, error=type(error).__name__)
            raise Unavailable(
                "the directory that checks passwords does not answer, or cannot be trusted",
                hint="try again later; the server's log has the details",
                retry_after_s=5.0,
            ) from None

    def _person(self, name: str, password: str) -> Person | None:
        dn = self._dn_of(name)
        if dn is None:
            return None
        with _Closing(self._connection(dn, password)) as connection:
            if not self._bind(connection):
                return None
            found = self._entry(connection, dn)
            return None if found is None else self._as_person(connection, dn, found)

    def _dn_of(self, name: str) -> str | None:
        settings = self._settings
        if settings.bind_template is not None:
            return settings.bind_template.replace("{user}", escape_rdn(name))
        with _Closing(self._connection(settings.bind_dn, self._bind_password)) as connection:
            if not self._bind(connection):
                raise LDAPException("the account that searches is refused")
            wanted = settings.user_filter.replace("{user}", escape_filter_chars(name))
            assert settings.search_base is not None
            connection.search(settings.search_base, wanted, SUBTREE, attributes=["1.1"], size_limit=2)
            found = [entry for entry in connection.response or () if entry["type"] == "searchResEntry"]
            return str(found[0]["dn"]) if len(found) == 1 else None

    def _connection(self, dn: str | None, password: str) -> Connection:
        settings = self._settings
        parts = urlsplit(settings.url)
        server = Server(
            parts.hostname,
            port=parts.port,
            use_ssl=parts.scheme == "ldaps",
            tls=self._tls,
            connect_timeout=settings.timeout,
            get_info=NONE,
        )
        account = {} if dn is None else {"user": dn, "password": password}
        whole_s = math.ceil(settings.timeout)  # the library takes nothing else
        return Connection(server, receive_timeout=whole_s, read_only=True, auto_referrals=False, **account)

    def _bind(self, connection: Connection) -> bool:
        """Whether the directory accepts the account. Nothing secret is sent before the connection is encrypted."""
        connection.open()
        if self._settings.url.startswith("ldap:") and not self._settings.allow_plain and not connection.start_tls():
            raise LDAPException("the directory offers no StartTLS")
        if connection.bind():
            return True
        if connection.result["result"] not in _WRONG:
            raise LDAPException(str(connection.result["description"]))
        return False

    def _entry(self, connection: Connection, dn: str) -> Attributes | None:
        settings = self._settings
        wanted = [settings.username_attribute, settings.id_attribute]
        if settings.groups_attribute is not None:
            wanted.append(settings.groups_attribute)
        connection.search(dn, "(objectClass=*)", "BASE", attributes=wanted)
        found = [entry for entry in connection.response or () if entry["type"] == "searchResEntry"]
        return dict(found[0]["raw_attributes"]) if found else None

    def _as_person(self, connection: Connection, dn: str, found: Attributes) -> Person:
        settings = self._settings
        subjects = _values(found, settings.id_attribute)
        if len(subjects) != 1:
            raise LDAPException(f"an entry has no single {settings.id_attribute}")
        names = _values(found, settings.username_attribute)
        name = valid_name(_text(names[0])) if names else ""
        return Person(self.issuer, _text(subjects[0]), name, self._groups(connection, dn, found))

    def _groups(self, connection: Connection, dn: str, found: Attributes) -> tuple[str, ...] | None:
        settings = self._settings
        if settings.group_base is not None:
            wanted = settings.group_filter.replace("{dn}", escape_filter_chars(dn))
            connection.search(settings.group_base, wanted, SUBTREE, attributes=["1.1"], size_limit=_MAX_GROUPS)
            groups = [entry["dn"] for entry in connection.response or () if entry["type"] == "searchResEntry"]
        elif settings.groups_attribute is not None:
            groups = [_text(value) for value in _values(found, settings.groups_attribute)]
        else:
            return None
        return valid_groups([_short(group) for group in groups])


class _Closing:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def __enter__(self) -> Connection:
        return self._connection

    def __exit__(self, *_: object) -> None:
        self._connection.unbind()


def build(settings: LdapSettings, bind_password: str, home: Path) -> LdapDirectory:
    """A relative path in the settings starts in the home folder."""
    ca_file = None if settings.ca_file is None else home / settings.ca_file.expanduser()
    return LdapDirectory(settings, bind_password, ca_file)


def _values(found: Attributes, name: str) -> list[Any]:
    """Names of attributes are the same in upper and lower case."""
    return next((list(values) for key, values in found.items() if key.lower() == name.lower()), [])


def _text(value: bytes | str) -> str:
    """Ids of Active Directory are bytes."""
    if isinstance(value, str):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.hex()


def _short(dn: str) -> str:
    """The name of a group, which is the first part of its entry's name; a name that is no entry's stays as it is."""
    try:
        return str(parse_dn(dn)[0][1])
    except (LDAPInvalidDnError, IndexError):
        return dn
