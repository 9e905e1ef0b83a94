"""A real OpenLDAP server for tests, with people, groups and a certificate of its own."""

import contextlib
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.parts.ports import free_port
from tests.parts.server import polls

MISSING = "OpenLDAP is not installed: apt-get install slapd"
BASE = "dc=example,dc=org"
PASSWORD = "correct horse"
SEARCHER = f"cn=searcher,{BASE}"
_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
_START_S = 30.0
_CONFIG = """
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
moduleload memberof
pidfile {folder}/slapd.pid
TLSCertificateFile {folder}/cert.pem
TLSCertificateKeyFile {folder}/key.pem
allow bind_anon_cred
database mdb
suffix "{base}"
directory {folder}/data
overlay memberof
access to attrs=userPassword by anonymous auth by * none
access to * by users read by * none
"""
_LDIF = """dn: {base}
objectClass: dcObject
objectClass: organization
o: Example
dc: example

dn: ou=people,{base}
objectClass: organizationalUnit
ou: people

dn: ou=groups,{base}
objectClass: organizationalUnit
ou: groups

dn: cn=searcher,{base}
objectClass: person
cn: searcher
sn: searcher
userPassword: {password}
"""
_PERSON = """
dn: uid={name},ou=people,{base}
objectClass: inetOrgPerson
uid: {name}
cn: {name}
sn: {name}
userPassword: {password}
{member_of}
"""
_GROUP = """
dn: cn={name},ou=groups,{base}
objectClass: groupOfNames
cn: {name}
{members}
"""


class SlapdMissing(Exception):
    """There is no OpenLDAP on this machine."""


@dataclass(frozen=True)
class Slapd:
    folder: Path
    port: int
    secure_port: int

    @property
    def certificate(self) -> Path:
        return self.folder / "cert.pem"


@contextlib.contextmanager
def running_slapd(folder: Path, groups: dict[str, list[str]]) -> Iterator[Slapd]:
    """`groups` has the members of each group; every member is a person whose password is PASSWORD."""
    if shutil.which("slapd", path=_PATH) is None:
        raise SlapdMissing(MISSING)
    (folder / "data").mkdir(parents=True)
    _make_certificate(folder)
    (folder / "slapd.conf").write_text(_CONFIG.format(folder=folder, base=BASE))
    (folder / "people.ldif").write_text(_content(groups))
    slapd = Slapd(folder, free_port(), free_port())
    _run("slapadd", "-f", str(folder / "slapd.conf"), "-l", str(folder / "people.ldif"))
    addresses = f"ldap://127.0.0.1:{slapd.port} ldaps://127.0.0.1:{slapd.secure_port}"
    with (folder / "slapd.log").open("ab") as log:
        command = ["slapd", "-d", "0", "-h", addresses, "-f", str(folder / "slapd.conf")]
        process = subprocess.Popen(command, env=_environment(), stdout=log, stderr=log)
    try:
        _wait(process, slapd)
        yield slapd
    finally:
        process.kill()
        process.wait()


def _content(groups: dict[str, list[str]]) -> str:
    text = _LDIF.format(base=BASE, password=PASSWORD)
    for person in sorted({member for members in groups.values() for member in members}):
        own = [group for group, members in groups.items() if person in members]
        member_of = "\n".join(f"memberOf: cn={group},ou=groups,{BASE}" for group in own)
        text += _PERSON.format(base=BASE, name=person, password=PASSWORD, member_of=member_of)
    for group, members in groups.items():
        lines = "\n".join(f"member: uid={member},ou=people,{BASE}" for member in members)
        text += _GROUP.format(base=BASE, name=group, members=lines)
    return text


def _make_certificate(folder: Path) -> None:
    files = "-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")
    names = "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"
    _run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", *files, *names)


def _run(*command: str) -> None:
    done = subprocess.run(command, env=_environment(), capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr


def _environment() -> dict[str, str]:
    return {**os.environ, "PATH": _PATH}


def _wait(process: "subprocess.Popen[bytes]", slapd: Slapd) -> None:
    for _ in polls(_START_S):
        assert process.poll() is None, (slapd.folder / "slapd.log").read_text()
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", slapd.secure_port), 5):
            return
    raise AssertionError("slapd does not answer")
