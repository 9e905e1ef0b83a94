"""A program small enough for a command line: it fetches the agent's archive over the gang's connection, and becomes a
part of it. For allocations that share no folder with the login node.

Nothing that it gets is run before whoever answers has proven that it knows the token of the gang. It seals what it says
as `sealing` does, which it cannot import yet. Its arguments are the part, and what it names itself with: the key of the
gang for a coordinator, and the number of its component for a runner.
"""

NO_LOGIN_NODE = 69
"""The exit code of a coordinator whose node has no way to the login node. By sysexits.h the service is unavailable. A
login node that refuses the connection is there, and its agent may be about to start again, also if somebody else has
taken its port meanwhile: that is exit code 1."""
BOOTSTRAP = r"""
import hashlib, hmac, json, os, socket, struct, sys, tempfile
part, key, token = sys.argv[1], sys.argv[2], os.environ["MUSTER_BATCH_TOKEN"].encode()
def made(purpose, *said):
    return hmac.new(token, json.dumps([purpose, key, *said]).encode(), "sha256")
def hidden(data, mask):
    stream = hashlib.shake_256(mask.digest() + bytes(8)).digest(len(data))
    return (int.from_bytes(data, "little") ^ int.from_bytes(stream, "little")).to_bytes(len(data), "little")
def tag(data, seal):
    return hmac.new(seal.digest(), bytes(8) + data, "sha256").digest()
def framed(data, seal=b""):
    return struct.pack(">I", len(data)) + data + seal
def read(stream, most):
    length, = struct.unpack(">I", stream.read(4))
    if length > most:
        raise ValueError("it says too much")
    return stream.read(length)
def archive(link):
    link.settimeout(60)
    stream, own = link.makefile("rb"), os.urandom(16).hex()
    link.sendall(framed(json.dumps({"what": "seal", "key": key, "nonce": own}).encode()))
    answer = json.loads(read(stream, 4096).decode())
    said = own, str(answer["nonce"])
    if not hmac.compare_digest(made("server", *said).hexdigest(), str(answer["proof"])):
        raise ValueError("it is somebody else")
    asked = hidden(framed(b'{"what":"archive"}'), made("client hides", *said))
    link.sendall(framed(json.dumps({"proof": made("client", *said).hexdigest()}).encode()))
    link.sendall(framed(asked, tag(asked, made("client seals", *said))))
    body = read(stream, 16 * 1024 * 1024 + 8)
    if not hmac.compare_digest(tag(body, made("server seals", *said)), stream.read(32)):
        raise ValueError("it was changed on its way")
    found = hidden(body, made("server hides", *said))
    return found[8 + struct.unpack(">I", found[4:8])[0]:]
*names, port = os.environ["MUSTER_BATCH_ADDRESSES"].split(",")
problems = []
for name in filter(None, [os.environ.get("SLURM_LAUNCH_NODE_IPADDR")] * (part == "runner") + names):
    try:
        link = socket.create_connection((name, int(port)), 5)
    except OSError as error:
        problems.append((name, error))
        continue
    try:
        content = archive(link)
        os.environ["MUSTER_BATCH_ADDRESSES"] = ",".join([name, *(other for other in names if other != name), port])
        break
    except (OSError, ValueError, LookupError, TypeError, struct.error) as error:
        problems.append((name, ConnectionRefusedError("whoever answers does not know this job: %s" % error)))
    finally:
        link.close()
else:
    sys.stderr.write("muster: no login node or coordinator answers at port %s: %s\n" % (port, problems))
    is_away = any(isinstance(error, ConnectionRefusedError) for _, error in problems)
    sys.exit(1 if is_away or part == "runner" else 69)
descriptor, path = tempfile.mkstemp(suffix=".pyz")
with os.fdopen(descriptor, "wb") as file:
    file.write(content)
sys.path.insert(0, path)
sys.argv = [path, path, *sys.argv[2:]]
import atexit
atexit.register(lambda pid=os.getpid(): os.getpid() == pid and os.path.exists(path) and os.unlink(path))
if part == "coordinator":
    from muster.agent.batch.coordinator import main
else:
    from muster.agent.batch.runner import main
main()
"""
