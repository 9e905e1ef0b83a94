"""Which hosts belong to jobs, and what of headers is passed on."""

import pytest

from muster.server.job_hosts import JobPort, ProxyHosts
from muster.server.job_proxy.headers import confined_cookie, others_cookies, own_cookies, passed_back, passed_on
from muster.server.job_sessions import SESSION_S, Entry, ProxySessions

pytestmark = pytest.mark.fast
JOB = "0123456789abcdef"
HERE, WIDE = ProxyHosts(), ProxyHosts("https://*.jobs.example.org:8443")


@pytest.mark.parametrize(
    ("host", "target"),
    [
        (f"p8888-{JOB}.localhost:7070", JobPort(JOB, 8888)),
        (f"P8888-{JOB.upper()}.LOCALHOST", JobPort(JOB, 8888)),
        (f"p8888-{JOB}.localhost.:7070", JobPort(JOB, 8888)),
        (f"p80-{JOB}.jobs.example.org", JobPort(JOB, 80)),
        (f"p99999-{JOB}.localhost", None),
        (f"p080-{JOB}.localhost", None),
        (f"x.p80-{JOB}.localhost", None),
        (f"p80-{JOB}.evil.org", None),
        (f"p80-{JOB}.localhost.evil.org", None),
        (f"p80-{JOB}-x.localhost", None),
        ("localhost", None),
        ("", None),
    ],
)
def test_hosts_are_read(host: str, target: JobPort | None) -> None:
    assert WIDE.parsed(host) == target


@pytest.mark.parametrize("host", ["x.localhost", "a.b.localhost:1", "y.jobs.example.org"])
def test_all_hosts_below_belong_to_jobs(host: str) -> None:
    assert WIDE.is_below(host)


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1:7070", "jobs.example.org", "muster.example.org", "xlocalhost"]
)
def test_all_others_do_not(host: str) -> None:
    assert not WIDE.is_below(host)


def test_origins_follow_the_way_in_which_muster_was_reached() -> None:
    target = JobPort(JOB, 80)
    assert HERE.origin(target, "http", "127.0.0.1:7070") == f"http://p80-{JOB}.localhost:7070"
    assert HERE.origin(target, "http", "[::1]:7070") == f"http://p80-{JOB}.localhost:7070"
    assert HERE.origin(target, "http", "muster.example.org") is None
    assert WIDE.origin(target, "http", "muster.example.org") == f"https://p80-{JOB}.jobs.example.org:8443"


def test_a_cookie_is_good_for_its_host_until_it_expires() -> None:
    now = [1000.0]
    sessions = ProxySessions(b"key", lambda: now[0])
    mine, other = JobPort(JOB, 80), JobPort(JOB, 81)
    cookie = sessions.cookie(Entry(mine, "digest"))
    assert sessions.secret_hash(cookie, mine) == "digest"
    assert sessions.secret_hash(cookie, other) is None
    assert ProxySessions(b"other key", lambda: now[0]).secret_hash(cookie, mine) is None
    for wrong in ("", ".", "a.b", cookie[:-1], f"x{cookie}", "é.é"):
        assert sessions.secret_hash(wrong, mine) is None
    now[0] += SESSION_S
    assert sessions.secret_hash(cookie, mine) is None


def test_a_link_is_taken_once_and_by_its_host_only() -> None:
    sessions = ProxySessions(b"key", lambda: 0.0)
    entry = Entry(JobPort(JOB, 80), "digest")
    ticket = sessions.link(entry, "me")
    assert sessions.taken(ticket, JobPort(JOB, 81)) is None
    assert sessions.taken(ticket, entry.target) is None, "somebody tried it elsewhere"
    ticket = sessions.link(entry, "me")
    assert sessions.taken(ticket, entry.target) == entry
    assert sessions.taken(ticket, entry.target) is None


def test_cookies_and_tokens_of_muster_stay_here() -> None:
    assert others_cookies(b"a=1; muster_session=x; MUSTER_JOB=y; b=2;muster_sign_in=z") == b"a=1; b=2"
    headers = [(b"authorization", b"Bearer mst_abc"), (b"cookie", b"muster_job=x"), (b"x-hop", b"1")]
    assert passed_on([*headers, (b"connection", b"keep-alive, X-Hop")], "http", None) == [
        (b"x-forwarded-proto", b"http")
    ]
    assert (b"authorization", b"token own") in passed_on([(b"authorization", b"Basic x")], "http", b"token own")
    assert (b"authorization", b"Basic x") in passed_on([(b"authorization", b"Basic x")], "http", None)
    assert (b"authorization", b"Basic x") not in passed_on([(b"authorization", b"Basic x")], "http", b"token own")
    assert own_cookies([(b"cookie", b"muster_job=1; a=2"), (b"cookie", b"muster_job=3")], "muster_job") == ["1", "3"]


def test_answers_reach_nothing_beyond_their_host() -> None:
    assert confined_cookie(b"a=1; Domain=.example.org; Path=/x; Secure") == b"a=1; Path=/x; Secure"
    assert confined_cookie(b" muster_session =1; Path=/") == b""
    kept = passed_back([(b"alt-svc", b"h3"), (b"connection", b"close"), (b"content-length", b"3"), (b"x", b"y")])
    assert kept == [(b"content-length", b"3"), (b"x", b"y"), (b"content-security-policy", b"frame-ancestors 'self'")]
