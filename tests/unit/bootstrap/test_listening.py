"""Where the server listens, and what is said if it cannot."""

import pytest

from muster.bootstrap.listening import listen
from muster.domain.errors import Invalid

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("host", ["192.0.2.1", "no.such.host.invalid"])
def test_a_wrong_host_is_not_blamed_on_the_port(host: str) -> None:
    with pytest.raises(Invalid) as refused:
        listen(host, 0)
    assert "--host" in refused.value.hint
    assert "--port" not in refused.value.hint


def test_a_port_in_use_is_blamed_on_the_port() -> None:
    with listen("127.0.0.1", 0) as taken, pytest.raises(Invalid) as refused:
        listen("127.0.0.1", taken.getsockname()[1])
    assert "--port" in refused.value.hint
