"""People log in with passwords of a real OpenLDAP, over the API and with the command."""

from pathlib import Path

import httpx
import pytest
import yaml

from tests.parts.server import running_server
from tests.parts.slapd import BASE, PASSWORD, SlapdMissing, running_slapd


def test_a_person_of_the_directory_logs_in(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    try:
        with running_slapd(tmp_path / "slapd", {"staff": ["amy"], "guests": ["eve"]}) as slapd:
            ldap = {
                "url": f"ldap://localhost:{slapd.port}",
                "caFile": str(slapd.certificate),
                "bindTemplate": f"uid={{user}},ou=people,{BASE}",
                "allowedGroups": ["staff"],
            }
            (home / "config.yaml").write_text(yaml.safe_dump({"ldap": ldap, "passwordLogin": False}))
            with running_server(home) as server:
                login = f"{server.url}/api/v1/login"
                assert httpx.get(login).json() == {"password": True, "sso": None}
                session = httpx.post(login, json={"user": "amy", "password": PASSWORD}).json()
                assert (session["user"], session["role"]) == ("amy", "user")
                token = server.call("POST", "/api/v1/tokens", {"name": "x"}, token=session["token"])[1]
                assert token["expiresAt"] is not None
                for name, password, status in (("amy", "wrong", 401), ("amy", "", 401), ("eve", PASSWORD, 403)):
                    assert httpx.post(login, json={"user": name, "password": password}).status_code == status
                server.call("POST", "/api/v1/users", {"name": "local", "password": "correct horse"})
                answer = httpx.post(login, json={"user": "local", "password": "correct horse"})
                assert answer.status_code == 403, "passwords of Muster's own are switched off"
                own = server.run("login", server.url, "--user", "amy", "--password-stdin", input=f"{PASSWORD}\n")
                assert own.returncode == 0, own.stderr
                assert PASSWORD not in (home / "stderr.log").read_text()
    except SlapdMissing as missing:
        pytest.skip(str(missing))
