#!/bin/sh
# Slurm for the tests that need a real one: its daemons and commands, munge, slurmdbd with MariaDB for accounting,
# environment modules, and Open MPI with its headers for programs that really compute together. As root it is installed, and no service is started;
# else the tests that need a missing part skip and say so.
set -eu
PATH="$PATH:/usr/sbin:/sbin"
missing=""
command -v slurmctld >/dev/null 2>&1 || missing="$missing slurmctld"
command -v slurmd >/dev/null 2>&1 || missing="$missing slurmd"
command -v sbatch >/dev/null 2>&1 || missing="$missing slurm-client"
command -v munged >/dev/null 2>&1 || missing="$missing munge"
command -v slurmdbd >/dev/null 2>&1 || missing="$missing slurmdbd"
command -v mariadbd >/dev/null 2>&1 || missing="$missing mariadb-server"
[ -r /etc/profile.d/modules.sh ] || missing="$missing environment-modules"
command -v mpirun >/dev/null 2>&1 || missing="$missing openmpi-bin"
command -v gcc >/dev/null 2>&1 || missing="$missing gcc libc6-dev"
# The compiler of Open MPI may be there without its headers.
echo '#include <mpi.h>' | mpicc -fsyntax-only -x c - >/dev/null 2>&1 || missing="$missing libopenmpi-dev"
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ]; then
    echo "not root, so not installed:$missing (their tests will skip)" >&2
    exit 0
fi
echo "installing$missing"
# shellcheck disable=SC2086
"$(dirname "$0")/apt-install.sh" $missing ||
    echo "could not be installed:$missing (their tests will skip)" >&2
