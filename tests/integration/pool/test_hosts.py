"""The test hosts are as separate as machines, and fail as machines do."""

import asyncio
import json
import signal
import socket
import subprocess
import sys
import uuid
from contextlib import ExitStack
from pathlib import Path

import asyncssh
import pytest

from tests.integration.pool.visiting import connect, said, says
from tests.parts.host_claims import CommandFailed
from tests.parts.hosts import DISK, PLAIN_USER, HostOptions, HostPool, oldest_python
from tests.parts.server import polls

pytestmark = pytest.mark.usefixtures("can_make_hosts")

BOOT_ID = "cat /proc/sys/kernel/random/boot_id"


def start_sleeping(seconds: int) -> str:
    return f"setsid sleep {seconds} </dev/null >/dev/null 2>&1 &"


# What a host is


def test_hosts_have_names_addresses_processes_and_files_of_their_own(pool: HostPool) -> None:
    for number, host in enumerate(pool.hosts):
        assert said(host, "hostname") == host.name
        said(host, f"echo {host.name} > /etc/whose; {start_sleeping(600 + number)}")
    for number, host in enumerate(pool.hosts):
        assert said(host, "cat /etc/whose") == host.name
        assert host.path("/etc/whose").read_text() == f"{host.name}\n"
        assert list(host.processes("sleep 6").values()) == [f"sleep {600 + number}"]
    assert len({host.address for host in pool.hosts}) == len({host.host_key for host in pool.hosts}) == 4
    assert not Path("/etc/whose").exists()


def test_a_host_starts_with_empty_homes_and_temporary_folders() -> None:
    with HostPool(1) as pool:
        assert said(pool[0], "find /tmp /var/tmp /home -mindepth 1 -maxdepth 1") == f"/home/{PLAIN_USER}"
        assert "authorized_keys" not in said(pool[0], "find /root -maxdepth 2")


def test_hosts_reach_each_other_by_name_and_this_machine_by_address(pool: HostPool) -> None:
    assert said(pool[0], f"getent hosts {pool[1].name}").split() == [pool[1].address, pool[1].name]
    assert said(pool[0], f"bash -c '</dev/tcp/{pool[1].name}/22' && echo reached") == "reached"
    with subprocess.Popen([sys.executable, "-c", _LISTEN, pool.address], stdout=subprocess.PIPE, text=True) as listener:
        assert listener.stdout is not None
        port = int(listener.stdout.readline())
        said(pool[0], f"bash -c '</dev/tcp/{pool.address}/{port}'")
        assert listener.stdout.readline().strip() == pool[0].address


_LISTEN = """
import socket, sys
listening = socket.create_server((sys.argv[1], 0))
print(listening.getsockname()[1], flush=True)
print(listening.accept()[1][0])
"""


def test_a_password_logs_in_only_where_it_is_allowed_and_right(pool: HostPool) -> None:
    with HostPool([HostOptions(password="tell no-one", key_login=False)]) as other:
        host = other[0]
        assert said(host, "id -un", password=host.password, client_keys=None) == "root"
        with pytest.raises(asyncssh.PermissionDenied):
            said(host, "true", password="a guess", client_keys=None)
        with pytest.raises(asyncssh.PermissionDenied):
            said(host, "true")
        host.allow_key_login(True)
        assert said(host, "id -un") == "root"
    with pytest.raises(asyncssh.PermissionDenied):
        said(pool[0], "true", password="tell no-one", client_keys=None)


def test_a_host_may_be_entered_as_a_plain_user() -> None:
    with HostPool([HostOptions(user=PLAIN_USER, password="ada's", python=oldest_python().path)]) as pool:
        assert said(pool[0], "id -un; pwd").split() == [PLAIN_USER, f"/home/{PLAIN_USER}"]
        assert said(pool[0], "id -un", password="ada's", client_keys=None) == PLAIN_USER
        assert said(pool[0], "python3 --version") == f"Python {oldest_python()}"
        assert says(pool[0], "touch /etc/mine").returncode != 0


def test_a_host_may_have_an_old_python() -> None:
    python = oldest_python()
    assert python.version >= (3, 8)
    with HostPool([HostOptions(python=python.path)]) as pool:
        assert said(pool[0], "python3 --version") == f"Python {python}"
        assert said(pool[0], "python3 -c 'import ssl, ctypes, json; print(1)'") == "1"


def test_fake_gpus_are_what_the_host_was_given_last() -> None:
    with HostPool([HostOptions(fake_gpus="2xRTX3090,1xA100:40Gi")]) as pool:
        assert said(pool[0], "echo $MUSTER_FAKE_GPUS") == "2xRTX3090,1xA100:40Gi"
        pool[0].set_fake_gpus("8xH100")
        assert said(pool[0], "echo $MUSTER_FAKE_GPUS") == "8xH100"
        pool[0].set_fake_gpus("")
        assert said(pool[0], "echo $MUSTER_FAKE_GPUS") == ""


def test_files_are_copied_by_sftp(pool: HostPool, tmp_path: Path) -> None:
    (tmp_path / "sent").write_text("content")

    async def copy() -> None:
        async with connect(pool[0]) as connection, connection.start_sftp_client() as sftp:
            await sftp.put(str(tmp_path / "sent"), "/root/sent")

    asyncio.run(copy())
    assert pool[0].path("/root/sent").read_text() == "content"


def test_a_hidden_host_is_reached_through_the_jump_host_only() -> None:
    with HostPool(2, behind=[HostOptions()]) as pool:
        hidden = pool.behind[0]
        with pytest.raises(OSError, match=r"No route|unreachable"):
            said(hidden, "true")
        with pytest.raises(CommandFailed, match="unreachable"):
            pool[1].run(["bash", "-c", f"</dev/tcp/{hidden.address}/22"])

        async def through() -> str:
            async with connect(pool.jump) as jump, connect(hidden, tunnel=jump) as connection:
                return str((await connection.run("hostname", check=True)).stdout).strip()

        assert asyncio.run(through()) == hidden.name
        hidden.cut()
        with pytest.raises((OSError, asyncssh.Error, TimeoutError)):
            asyncio.run(asyncio.wait_for(through(), 2))


# How it fails


def test_a_host_that_is_cut_off_is_heard_again_when_mended(pool: HostPool) -> None:
    async def story() -> None:
        async with connect(pool[1]) as connection:
            pool[1].cut()
            with pytest.raises((OSError, TimeoutError)):
                async with asyncio.timeout(1), connect(pool[1]):
                    pass
            pool[1].mend()
            assert (await connection.run("echo still here")).stdout == "still here\n"

    asyncio.run(story())


def test_a_killed_sshd_ends_connections_and_leaves_other_processes(pool: HostPool) -> None:
    async def story() -> None:
        async with connect(pool[2]) as connection:
            await connection.run(start_sleeping(711))
            pool[2].kill_sshd()
            await asyncio.wait_for(connection.wait_closed(), 30)
            with pytest.raises(ConnectionRefusedError):
                async with connect(pool[2]):
                    pass

    asyncio.run(story())
    assert pool[2].processes("sleep 711")
    pool[2].start_sshd()
    assert said(pool[2], "echo back") == "back"


def test_power_off_ends_all_processes_and_keeps_files() -> None:
    with HostPool([HostOptions(disk_mib=8)]) as pool:
        host = pool[0]
        said(host, f"{start_sleeping(722)} echo 1 > /root/kept; echo 2 > {DISK}/kept; echo 3 > /tmp/lost")
        first_boot = said(host, BOOT_ID)
        outside = _sleeping(722)
        assert len(outside) == 1
        host.power_off()
        assert not _sleeping(722)
        assert not host.processes()
        assert host.path("/root/kept").read_text() == "1\n"
        with pytest.raises((OSError, TimeoutError)):
            asyncio.run(asyncio.wait_for(_reach(pool), 1))

        host.power_on()
        assert said(host, f"cat /root/kept {DISK}/kept; ls /tmp").split() == ["1", "2"]
        assert not host.processes("sleep 722")
        assert said(host, BOOT_ID) not in (first_boot, Path("/proc/sys/kernel/random/boot_id").read_text().strip())


async def _reach(pool: HostPool) -> None:
    async with connect(pool[0]):
        pass


def _sleeping(seconds: int) -> list[str]:
    wanted = f"sleep\0{seconds}\0".encode()
    return [path.parent.name for path in Path("/proc").glob("[0-9]*/cmdline") if _content(path) == wanted]


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_a_full_disk_takes_nothing_until_it_is_freed() -> None:
    with HostPool([HostOptions(disk_mib=4)]) as pool:
        write = f"head -c 100000 /dev/zero > {DISK}/written"
        said(pool[0], write)
        pool[0].fill_disk()
        failed = says(pool[0], f"{write}.again")
        assert failed.returncode != 0
        assert "No space left" in str(failed.stderr)
        assert said(pool[0], "echo elsewhere > /root/x && cat /root/x") == "elsewhere"
        pool[0].free_disk()
        said(pool[0], f"{write}.again")


def test_a_changed_host_key_is_noticed() -> None:
    with HostPool(1) as pool:
        known = pool[0].known_hosts_line
        pool[0].change_host_key()
        assert pool[0].known_hosts_line != known
        with pytest.raises(asyncssh.HostKeyNotVerifiable):
            said(pool[0], "true", known_hosts=asyncssh.import_known_hosts(known))
        assert said(pool[0], "echo new") == "new"


def test_a_frozen_process_goes_on_when_thawed(pool: HostPool) -> None:
    host = pool[3]
    said(host, "setsid sh -c 'while :; do echo x >> /root/ticks; sleep 0.0317; done' </dev/null >/dev/null 2>&1 &")
    _wait_for_more_ticks(host.path("/root/ticks"))
    host.freeze("/root/ticks")
    (pid,) = host.processes("/root/ticks")
    assert said(host, f"cut -d' ' -f3 /proc/{pid}/stat") == "T"
    host.thaw("/root/ticks")
    _wait_for_more_ticks(host.path("/root/ticks"))
    host.kill("/root/ticks")
    assert not host.processes("/root/ticks")


def _wait_for_more_ticks(file: Path) -> None:
    before = file.stat().st_size if file.exists() else 0
    for _ in polls(30):
        if file.exists() and file.stat().st_size > before:
            return
    raise AssertionError(f"nothing is written to {file}")


# Sharing


def test_a_shared_folder_is_the_same_on_all_hosts_at_the_same_path(pool: HostPool, tmp_path: Path) -> None:
    shared, other = tmp_path / "shared", tmp_path / "other"
    shared.mkdir()
    other.mkdir()
    pool.share(shared)
    said(pool[0], f"echo hello > {shared}/file")
    assert said(pool[1], f"cat {shared}/file") == "hello"
    assert (shared / "file").read_text() == "hello\n"

    pool[1].unshare(shared)
    assert said(pool[1], f"ls {shared}") == ""
    pool[2].share(other, shared)
    said(pool[2], f"echo mine > {shared}/file")
    assert (shared / "file").read_text() == "hello\n"
    assert (other / "file").read_text() == "mine\n"
    pool[3].power_off()
    pool[3].power_on()
    assert said(pool[3], f"cat {shared}/file") == "hello"
    for host in (pool[0], pool[2], pool[3]):
        host.unshare(shared)


# Leaving nothing. Names and numbers tell nothing here: another test may already have a pool of the same number.


def test_a_pool_takes_everything_with_it_even_when_the_test_fails(tmp_path: Path) -> None:
    shared = tmp_path / "precious things"
    shared.mkdir()
    (shared / "file").write_text("kept")
    seen = ExitStack()
    pool = seen.enter_context(HostPool(2, behind=[HostOptions(disk_mib=4)]))
    pool.share(shared)
    said(pool[0], start_sleeping(733))
    links, files = _links_of(pool), _files_of(pool)
    assert str(tmp_path) in Path("/proc/self/mountinfo").read_text()
    with pytest.raises(ZeroDivisionError), seen:
        raise ZeroDivisionError
    assert not links & _all_links()
    assert not any(file.exists() for file in files)
    assert not _sleeping(733)
    assert str(tmp_path) not in Path("/proc/self/mountinfo").read_text()
    assert (shared / "file").read_text() == "kept"


def test_the_next_pool_removes_what_a_killed_test_run_left() -> None:
    with subprocess.Popen([sys.executable, "-c", _HOLD_A_POOL], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        held = json.loads(run.stdout.readline())
        run.send_signal(signal.SIGKILL)
    with HostPool(0):
        assert not set(held["links"]) & _all_links()
        assert not any(Path(file).exists() for file in held["files"])
        assert not _sleeping(744)


_HOLD_A_POOL = """
import json, time
from tests.integration.pool.test_hosts import _files_of, _links_of, said, start_sleeping
from tests.parts.hosts import HostPool
with HostPool(1) as pool:
    said(pool[0], start_sleeping(744))
    print(json.dumps({"links": list(_links_of(pool)), "files": list(map(str, _files_of(pool)))}), flush=True)
    time.sleep(600)
"""


def _links_of(pool: HostPool) -> set[int]:
    prefix = pool[0].name.rpartition("h")[0]
    found = {int((path / "ifindex").read_text()) for path in Path("/sys/class/net").glob(f"{prefix}*")}
    assert len(found) >= 1 + len(pool.everyone)
    return found


def _all_links() -> set[int]:
    return {index for index, _ in socket.if_nameindex()}


def _files_of(pool: HostPool) -> list[Path]:
    """One file of each host, of a name that only this pool has."""
    found = [host.path(f"/root/{uuid.uuid4()}") for host in pool.everyone]
    for path in found:
        path.touch()
    return found
