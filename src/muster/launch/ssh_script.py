"""The script that starts an SSH server of the task's own, and then becomes the command of the task.

It runs where the command runs, under the account and in the isolation of the task, and so does everything that a peer
starts over it. It needs a shell, OpenSSH's server and its client. All that it writes is in the folder `ssh` of the
task's folder, which only the account of the task can enter.

`ssh`, `scp` and `sftp` are found by PATH before those of the system, and know the names of the peers, wherever HOME is.
Other hosts are reached as they would be without it. A peer that has not started yet is tried for a minute.
"""

SCRIPT_FILE, PEERS_FILE, KEYS_FILE = "ssh.sh", "ssh.peers", "ssh.keys"
KEY, HOST_KEY = ".muster/ssh-key", ".muster/ssh-host-key"
"""Where the private keys are, in the folder of the secrets."""
FOLDER = "ssh"
PORT_VARIABLE = "MUSTER_SSH_PORT"
UNUSABLE = "muster: ssh cannot be used here: "
_BLOCK = 50
"""How many names are on one line of the client's configuration: older clients do not read long lines."""
_START_TRIES, _START_TRY_S = 100, 0.1

SCRIPT = rf"""# Starts the SSH server of the task, then its command, which the arguments are.
fail() {{ echo "{UNUSABLE}$*" >&2; exit 1; }}
given_mask=$(umask)
umask 077
folder=$MUSTER_TASK_DIR/{FOLDER}
sshd=
for found in "$(command -v sshd)" /usr/sbin/sshd /usr/local/sbin/sshd /sbin/sshd; do
  if [ -z "$sshd" ] && [ -x "$found" ]; then sshd=$found; fi
done
[ -n "$sshd" ] || fail "there is no sshd: install openssh-server on the node, or in the image of the job"
for program in ssh ssh-keygen; do
  command -v "$program" >/dev/null 2>&1 ||
    fail "there is no $program: install openssh-client on the node, or in the image of the job"
done
account=$(id -un 2>/dev/null) || fail "no account has the number $(id -u), and OpenSSH works for accounts only:\
 have one made on the node or in the image, or use a rootless container engine"
mkdir -p "$folder/bin" || fail "$folder cannot be made"
cp "$MUSTER_SECRETS/{KEY}" "$folder/key.new" && mv -f "$folder/key.new" "$folder/key" &&
  cp "$MUSTER_SECRETS/{HOST_KEY}" "$folder/host_key.new" && mv -f "$folder/host_key.new" "$folder/host_key" &&
  chmod 600 "$folder/key" "$folder/host_key" || fail "its key cannot be copied"
{{ ssh-keygen -y -f "$folder/key" && cat "$MUSTER_TASK_DIR/{KEYS_FILE}"; }} >"$folder/authorized_keys" ||
  fail "ssh-keygen cannot read the key of the job"
echo "muster-job $(ssh-keygen -y -f "$folder/host_key")" >"$folder/known_hosts"

listen=
names=
count=0
block() {{
  [ -z "$names" ] || cat <<END
Host$names
  User $account
  HostKeyAlias muster-job
  IdentityFile "$folder/key"
  IdentitiesOnly yes
  UserKnownHostsFile "$folder/known_hosts"
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
  CheckHostIP no
  PreferredAuthentications publickey
  BatchMode yes
  ConnectTimeout 10
  ConnectionAttempts 60
  ControlPath none
  ProxyCommand none
  LogLevel ERROR
END
  names= count=0
}}
while read -r name address port; do
  printf 'Host %s\n  HostName %s\n  Port %s\n' "$name" "$address" "$port"
  if [ "$name" = "$MUSTER_ROLE-$MUSTER_ROLE_INDEX" ]; then
    case $address in 127.*) listen="ListenAddress $address" ;; esac
  fi
  names="$names $name" count=$((count + 1))
  [ "$count" -lt {_BLOCK} ] || block
done <"$MUSTER_TASK_DIR/{PEERS_FILE}" >"$folder/config"
# ssh reads only files of root's or its own account's; in a user namespace, root's belong to nobody.
read -r _ _ owner _ <<END
$(ls -ldn /etc/ssh/ssh_config 2>/dev/null)
END
{{
  block
  printf 'Host *\n  Include ~/.ssh/config\n'
  case $owner in 0 | "$(id -u)") printf 'Host *\n  Include /etc/ssh/ssh_config\n' ;; esac
}} >>"$folder/config"
for program in ssh scp sftp; do
  real=$(command -v "$program") || continue
  case $real in "$folder"/*) continue ;; esac
  printf '#!/bin/sh\nexec "%s" -F "%s" "$@"\n' "$real" "$folder/config" >"$folder/bin/$program" &&
    chmod 700 "$folder/bin/$program" || fail "$folder cannot be written"
done

sftp=
for found in /usr/lib/openssh/sftp-server /usr/libexec/openssh/sftp-server /usr/lib/ssh/sftp-server; do
  [ ! -x "$found" ] || sftp="Subsystem sftp $found"
done
cat >"$folder/sshd_config" <<END || fail "$folder cannot be written"
Port ${PORT_VARIABLE}
$listen
HostKey "$folder/host_key"
AuthorizedKeysFile "$folder/authorized_keys"
AllowUsers $account
AuthenticationMethods publickey
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
PermitUserEnvironment no
UsePAM no
StrictModes no
PidFile none
UseDNS no
PrintMotd no
X11Forwarding no
AllowAgentForwarding no
PermitTunnel no
MaxStartups 200
MaxSessions 200
LogLevel INFO
$sftp
ForceCommand '$folder/session'
END
cat >"$folder/session" <<END
#!/bin/sh
. "$folder/environment"
cd "$PWD"
shell=\$(command -v bash || echo /bin/sh)
[ -z "\${{SSH_ORIGINAL_COMMAND+given}}" ] || exec "\$shell" -c "\$SSH_ORIGINAL_COMMAND"
exec "\$shell"
END
chmod 700 "$folder/session"
PATH=$folder/bin:$PATH
export PATH
export -p >"$folder/environment"

umask "$given_mask"
# As root, sshd changes its root to this folder for all that it does before a login.
[ "$(id -u)" != 0 ] || mkdir -p /run/sshd 2>/dev/null
: >"$folder/sshd.log"
("$sshd" -D -e -f "$folder/sshd_config" </dev/null >>"$folder/sshd.log" 2>&1 & echo $! >"$folder/pid")
tries=0
while :; do
  case $(cat "$folder/sshd.log") in *"Server listening"*) break ;; esac
  kill -0 "$(cat "$folder/pid")" 2>/dev/null || fail "sshd does not start: $(cat "$folder/sshd.log")"
  tries=$((tries + 1))
  [ "$tries" -lt {_START_TRIES} ] || fail "sshd does not listen: $(cat "$folder/sshd.log")"
  sleep {_START_TRY_S} 2>/dev/null || sleep 1
done
unset given_mask owner folder sshd found program account listen names count name address port real sftp tries
exec "$@"
"""
