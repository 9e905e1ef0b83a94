"""A program small enough for a command line: it fetches the agent's archive over the gang's connection, and becomes a
part of it. For allocations that share no folder with the login node.
"""

NO_LOGIN_NODE = 69
"""The exit code of a coordinator whose node has no way to the login node. By sysexits.h the service is unavailable. A
login node that refuses the connection is there, and its agent may be about to start again: that is exit code 1."""
BOOTSTRAP = r"""
import json, os, socket, struct, sys, tempfile
*names, port = os.environ["MUSTER_BATCH_ADDRESSES"].split(",")
names = [os.environ.get("SLURM_LAUNCH_NODE_IPADDR")] * (sys.argv[1] == "runner") + names
problems = []
for name in filter(None, names):
    try:
        link = socket.create_connection((name, int(port)), 5)
        others = [other for other in os.environ["MUSTER_BATCH_ADDRESSES"].split(",")[:-1] if other != name]
        os.environ["MUSTER_BATCH_ADDRESSES"] = ",".join([name, *others, port])
        break
    except OSError as error:
        problems.append(error)
else:
    sys.stderr.write("muster: nobody answers at %s: %s\n" % (names, problems))
    is_away = any(isinstance(error, ConnectionRefusedError) for error in problems)
    sys.exit(1 if is_away or sys.argv[1] == "runner" else 69)
asked = json.dumps({"what": "archive", "key": sys.argv[2], "token": os.environ["MUSTER_BATCH_TOKEN"]}).encode()
link.settimeout(60)
link.sendall(struct.pack(">I", len(asked)) + asked)
stream = link.makefile("rb")
size = struct.unpack(">I", stream.read(4))[0] & 0x7FFFFFFF
body = stream.read(size)
stream.close()
link.close()
descriptor, path = tempfile.mkstemp(suffix=".pyz")
with os.fdopen(descriptor, "wb") as file:
    file.write(body[4 + struct.unpack(">I", body[:4])[0]:])
sys.path.insert(0, path)
sys.argv = [path, path, *sys.argv[2:]]
import atexit
atexit.register(lambda pid=os.getpid(): os.getpid() == pid and os.path.exists(path) and os.unlink(path))
if sys.argv[0] and "%s" == "coordinator":
    from muster.agent.batch.coordinator import main
else:
    from muster.agent.batch.runner import main
main()
"""


def bootstrap(part: str) -> str:
    return BOOTSTRAP.replace('"%s" == "coordinator"', '"{}" == "coordinator"'.format(part))
