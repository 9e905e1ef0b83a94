"""Servers with a real identity provider, each shared by all tests of a worker. Each test logs in people of its own."""

from collections.abc import Iterator

import pytest

from tests.parts.form_browser import FormBrowser
from tests.parts.oidc_provider import ProviderMissing
from tests.parts.sign_in_site import Site, running_site

GROUPS = {"groupsClaim": "groups", "adminGroups": ["admins"], "allowedGroups": ["staff", "vision"]}


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    try:
        with running_site(tmp_path_factory.mktemp("sign-in"), GROUPS) as running:
            yield running
    except ProviderMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def plain_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Its provider has no device codes and says little in ID tokens, so that it has to be asked."""
    options = {"has_device_flow": False, "claims_in_id_token": False}
    try:
        folder = tmp_path_factory.mktemp("plain")
        with running_site(folder, {"linkByName": True}, {"passwordLogin": False}, **options) as running:
            yield running
    except ProviderMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture
def browser() -> Iterator[FormBrowser]:
    made = FormBrowser()
    yield made
    made.close()
