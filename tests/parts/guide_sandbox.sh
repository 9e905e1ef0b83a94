#!/bin/bash
# guide_sandbox.sh SOURCE WHEELS SCRIPT: run SCRIPT as root of a machine of its own, on which nothing is set up but
# PostgreSQL, nginx and Muster's source in /opt/muster. It runs in its own mount, network and process namespaces
# (`unshare --mount --net --pid --fork --kill-child --mount-proc`), so nothing of it is left behind.
set -euo pipefail
source=$1 wheels=$2 script=$3
parts=$(dirname "$(readlink -f "$0")")

mount --make-rprivate /
mount -t tmpfs tmpfs /mnt
mkdir -p /mnt/wheels /mnt/etc /mnt/bin
mount --bind "$wheels" /mnt/wheels
cp "$script" /mnt/script.sh
install -m 755 "$parts/unit_runner.sh" /mnt/bin/systemctl
cp -a /etc/. /mnt/etc
mount --bind /mnt/etc /etc
echo '127.0.0.1 localhost muster.example.org' >/etc/hosts
mkdir -p /etc/systemd/system
mount -t tmpfs -o mode=755 tmpfs /opt
mkdir /opt/muster
cp -r "$source"/{src,deploy,pyproject.toml,README.md,LICENSE,requirements.lock} /opt/muster
for folder in /var/lib /var/log /var/backups /run; do mount -t tmpfs -o mode=755 tmpfs "$folder"; done
mkdir -p /var/lib/nginx /var/log/nginx /run/lock
mount -t tmpfs -o mode=1777 tmpfs /tmp
ip link set lo up

binaries=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
install -d -m 700 -o postgres -g postgres /var/lib/postgresql /var/lib/postgresql/data
install -d -m 755 -o postgres -g postgres /run/postgresql
cd /
runuser -u postgres -- "$binaries/initdb" --no-sync --auth peer /var/lib/postgresql/data >/dev/null
runuser -u postgres -- "$binaries/postgres" -D /var/lib/postgresql/data -c listen_addresses= -c unix_socket_directories=/run/postgresql >/var/log/postgresql.log 2>&1 &
until runuser -u postgres -- "$binaries/pg_isready" --quiet --host /run/postgresql; do sleep 0.1; done

export PATH="/mnt/bin:$binaries:/usr/sbin:/usr/bin:/sbin:/bin" PIP_NO_INDEX=1 PIP_FIND_LINKS=/mnt/wheels PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_COMPILE=1
export PIP_ROOT_USER_ACTION=ignore HOME=/root
unset PIP_CONFIG_FILE MUSTER_HOME MUSTER_TOKEN MUSTER_SERVER
if ! bash -euxo pipefail /mnt/script.sh; then
    tail -n 20 /var/log/muster*.log /var/log/nginx/error.log >&2 || true
    exit 1
fi
