#!/bin/sh
# apt-install.sh PACKAGE...: install packages without starting the services that they bring. Needs root and apt.
set -eu
export DEBIAN_FRONTEND=noninteractive
# The tests start the servers that they need; installing one must not start it for the machine.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    trap 'exit 1' INT TERM
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
fi
apt-get update -qq || echo "the lists of packages could not be brought up to date" >&2
# Another installation on this machine may hold the lock for a while.
apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=600 "$@" >/dev/null
