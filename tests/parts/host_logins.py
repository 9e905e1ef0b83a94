"""Who may log in to a test host: its users, and what its SSH server is told. Text in, text out; it writes nothing."""

import re
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from tests.parts.host_claims import command

PLAIN_USER = "ada"
PLAIN_ID = 4321
HOST_KEY = "/etc/ssh/ssh_host_ed25519_key"
AUTHORIZED_KEYS = "/etc/ssh/test_keys"


def sshd_config(key_login: bool, password_login: bool, environment: Mapping[str, str]) -> str:
    settings = {
        "AddressFamily": "inet",
        "HostKey": HOST_KEY,
        "PidFile": "/run/sshd.pid",
        "AuthorizedKeysFile": AUTHORIZED_KEYS,
        "StrictModes": "no",
        "UsePAM": "no",
        "UseDNS": "no",
        "PermitRootLogin": "yes",
        "PubkeyAuthentication": _yes_no(key_login),
        "PasswordAuthentication": _yes_no(password_login),
        "KbdInteractiveAuthentication": "no",
        "MaxStartups": "500",
        "MaxSessions": "500",
        "MaxAuthTries": "20",
        "Subsystem": "sftp internal-sftp",
        "PrintMotd": "no",
        "PrintLastLog": "no",
        "LogLevel": "VERBOSE",
    }
    if environment:
        settings["SetEnv"] = " ".join(f'"{name}={value}"' for name, value in environment.items())
    if _ssh_version() >= (9, 8):
        settings["PerSourcePenalties"] = "no"  # else wrong passwords of one test lock out the next
    return "".join(f"{name} {value}\n" for name, value in settings.items())


def user_lines(password: str) -> dict[str, dict[str, str]]:
    """For each file of accounts, the lines by user. Without a password nobody logs in by one."""
    # No "!" in front: without PAM that would lock out keys, too.
    secret = command("openssl", "passwd", "-6", "-stdin", given=password).strip() if password else "*"
    shell = "/bin/bash" if Path("/bin/bash").exists() else "/bin/sh"
    return {
        "etc/group": {PLAIN_USER: f"{PLAIN_USER}:x:{PLAIN_ID}:"},
        "etc/passwd": {PLAIN_USER: f"{PLAIN_USER}:x:{PLAIN_ID}:{PLAIN_ID}::/home/{PLAIN_USER}:{shell}"},
        "etc/shadow": {user: f"{user}:{secret}:20000:0:99999:7:::" for user in ("root", PLAIN_USER)},
    }


def _yes_no(value: bool) -> str:
    return "yes" if value else "no"


@cache
def _ssh_version() -> tuple[int, int]:
    said = subprocess.run(["ssh", "-V"], capture_output=True, text=True, check=False).stderr
    found = re.search(r"OpenSSH_(\d+)\.(\d+)", said)
    return (int(found[1]), int(found[2])) if found else (0, 0)
