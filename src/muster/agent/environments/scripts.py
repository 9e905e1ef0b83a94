"""The fixed programs that look at environments. They are given paths and names as arguments, and print JSON.

LIST runs under the agent's own Python and only reads files. VERSIONS and TRY run under the Python of an environment,
whichever that is, so they use what every Python 3 has.
"""

from __future__ import annotations

# Distributions by framework: what importlib.metadata calls them.
FRAMEWORKS = {
    "paddle": ("paddlepaddle-gpu", "paddlepaddle"),
    "torch": ("torch",),
    "tensorflow": ("tensorflow", "tensorflow-gpu", "tensorflow-cpu", "tf-nightly"),
    "jax": ("jax",),
}

# Arguments: the account with whose rights to look, or null, conda root (or empty), FRAMEWORKS as JSON, then name and
# path of each folder. Everything is imported first, because the account need not be able to read this Python.
LIST = r"""
import encodings.ascii, encodings.utf_8, glob, json, os, re, stat, sys
account, conda, frameworks, folders = json.loads(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3]), sys.argv[4:]
if account:
    os.setgroups(account[2])
    os.setresgid(account[1], account[1], account[1])
    os.setresuid(account[0], account[0], account[0])
MOST = 500
found = []

def versions(prefix):
    # Distributions are known by the names of their folders: a file in them may be a pipe, which nobody can read.
    here = {}
    for site in sorted(glob.glob(os.path.join(glob.escape(prefix), "lib", "python3*", "site-packages"))):
        for entry in names_in(site):
            match = re.match(r"(.+?)-([0-9][^-]*?)(-py[0-9.]+)?\.(dist|egg)-info$", entry)
            name = re.sub(r"[-_.]+", "-", match.group(1)).lower() if match else ""
            for framework, names in frameworks.items():
                if name in names:
                    here.setdefault(framework, match.group(2))
    return here

def names_in(path):
    try:
        return sorted(os.listdir(path))
    except OSError:
        return []

def lines_of(path):
    # Neither a pipe nor a device keeps the reader waiting, also if it takes the place of the file just now.
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(fd, errors="replace") as file:
        return file.read(65536).splitlines() if stat.S_ISREG(os.fstat(fd).st_mode) else []

def python_of(prefix):
    for record in glob.glob(os.path.join(glob.escape(prefix), "conda-meta", "python-[0-9]*.json")):
        return os.path.basename(record).split("-")[1]
    try:
        written = lines_of(os.path.join(prefix, "pyvenv.cfg"))
        lines = dict(tuple(part.strip() for part in line.split("=", 1)) for line in written if "=" in line)
        version = lines.get("version") or lines.get("version_info") or ""
        if version:
            return ".".join(version.split(".")[:3])
    except OSError:
        pass
    for folder in glob.glob(os.path.join(glob.escape(prefix), "lib", "python3*")):
        return os.path.basename(folder)[len("python"):]
    return ""

def add(kind, name, prefix):
    python = os.path.join(prefix, "bin", "python")
    works = os.access(python, os.X_OK)
    if len(found) < MOST and (works or os.path.islink(python)):
        # One whose Python was removed is told without a version: to leave it out would hide what is wrong with it.
        found.append({"kind": kind, "name": name, "path": prefix, "python": python_of(prefix) if works else "",
                      "frameworks": versions(prefix)})

def folders_in(path):
    try:
        return sorted(entry.name for entry in os.scandir(path) if entry.is_dir())
    except OSError:
        return []

def is_venv(path):
    return os.path.isfile(os.path.join(path, "pyvenv.cfg"))

def venvs_below(name, path):
    for child in folders_in(path):
        if is_venv(os.path.join(path, child)) and os.path.join(path, child) != conda:
            add("venv", name + "/" + child, os.path.join(path, child))

if conda:
    add("conda", "base", conda)
    for name in folders_in(os.path.join(conda, "envs")):
        add("conda", name, os.path.join(conda, "envs", name))
for name, path in zip(folders[::2], folders[1::2]):
    if name in ("envs", "venvs"):
        venvs_below(name, path)
    for child in folders_in(path):
        below = os.path.join(path, child)
        if not is_venv(below) and (child in ("envs", "venvs") or name in ("envs", "venvs")) and below != conda:
            venvs_below(name + "/" + child, below)
print(json.dumps(found))
"""

# Argument: FRAMEWORKS as JSON. Distributions are known by their folders: importlib.metadata is as new as 3.8.
VERSIONS = r"""
import json, os, re, sys
here = {}
for folder in sys.path:
    for entry in os.listdir(folder) if os.path.isdir(folder) else ():
        match = re.match(r"(.+?)-([0-9][^-]*?)(-py[0-9.]+)?\.(dist|egg)-info$", entry)
        if match:
            here.setdefault(re.sub(r"[-_.]+", "-", match.group(1)).lower(), match.group(2))
found = {}
for framework, names in json.loads(sys.argv[1]).items():
    for name in names:
        if name in here:
            found.setdefault(framework, here[name])
print("\nmuster:" + json.dumps({"python": sys.version.split()[0], "frameworks": found}))
"""

# Argument: the prefix of a conda environment, or empty. importlib.metadata is as new as 3.8; before, distributions are
# known by their folders.
PACKAGES = r"""
import json, os, re, sys
MOST = 5000
found = {}

def plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()

def of_conda(prefix):
    folder = os.path.join(prefix, "conda-meta") if prefix else ""
    for entry in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        parts = entry[:-len(".json")].rsplit("-", 2) if entry.endswith(".json") else ()
        if len(parts) == 3:
            yield parts[0], parts[1]

def of_python():
    try:
        from importlib import metadata
    except ImportError:
        for folder in sys.path:
            for entry in os.listdir(folder) if os.path.isdir(folder) else ():
                match = re.match(r"(.+?)-([0-9][^-]*?)(-py[0-9.]+)?\.(dist|egg)-info$", entry)
                if match:
                    yield match.group(1), match.group(2)
        return
    for one in metadata.distributions():
        yield one.metadata["Name"], one.version

for source, packages in (("conda", of_conda(sys.argv[1])), ("python", of_python())):
    for name, version in packages:
        if name and len(found) < MOST:
            found.setdefault(plain(name), (name, str(version), source))
listed = [{"name": one[0], "version": one[1], "source": one[2]} for _, one in sorted(found.items())]
print("\nmuster:" + json.dumps({"python": sys.version.split()[0], "packages": listed}))
"""

# Argument: the framework. What it prints by itself comes before the answer.
TRY = r"""
import json, sys

def paddle():
    import paddle
    return paddle.__version__, paddle.device.cuda.device_count() if paddle.is_compiled_with_cuda() else 0

def torch():
    import torch
    return torch.__version__, torch.cuda.device_count() if torch.cuda.is_available() else 0

def tensorflow():
    import tensorflow
    config = tensorflow.config
    listed = getattr(config, "list_physical_devices", None) or config.experimental.list_physical_devices
    return tensorflow.__version__, len(listed("GPU"))

def jax():
    import jax
    return jax.__version__, sum(device.platform != "cpu" for device in jax.devices())

try:
    version, gpus = globals()[sys.argv[1]]()
    found = {"version": str(version), "gpus": int(gpus)}
except BaseException as error:
    found = {"error": "{}: {}".format(type(error).__name__, error)[:2000]}
print("\nmuster:" + json.dumps(found))
"""

ANSWER = "muster:"
