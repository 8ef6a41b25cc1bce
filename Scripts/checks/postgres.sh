#!/usr/bin/env bash
# Starts PostgreSQL servers on 127.0.0.1 and runs a command with their URLs in its environment. Stops them afterward, even after a signal.
#
#     Scripts/checks/postgres.sh swift test --traits PostgreSQL
#
#     SLUICE_POSTGRES          a server, for all tests
#     SLUICE_PGBOUNCER         pgbouncer in front of it, in transaction mode
#     SLUICE_POSTGRES_MORTAL   a server that one test kills: "$SLUICE_POSTGRES_CONTROL kill" and "… start"
#
# SLUICE_MORTAL_DATA and SLUICE_MORTAL_WAL name the directories for that server's tables and its log, instead of temporary ones. With
# SLUICE_POSTGRES_ADDRESS, the servers also listen on that address, and accept clients from its network.
#
# The user in the URLs owns the database and isn't a superuser. If the script runs as root, the servers run as the user postgres, because
# they refuse to run as root. fsync is off: kill -9 of a server loses nothing that the kernel has, no test cuts the power, and the directory
# is deleted. Set SLUICE_POSTGRES_FSYNC=on to measure with fsync.
#
# If a program is missing, the command runs without the variables, and its tests are skipped. If CI or SLUICE_REQUIRE_SERVERS is set, that
# is an error.
set -euo pipefail
shopt -s inherit_errexit

# as_server COMMAND...: runs the command as a user who may run the servers, and replaces this shell.
as_server() {
    if [[ $(id -u) == 0 ]]; then
        exec setpriv --reuid=postgres --regid=postgres --init-groups --inh-caps=-all env HOME=/nonexistent "$@"
    fi
    exec "$@"
}

# control kill|start DIRECTORY: ends a server as a crash would, or restarts it on the same port.
control() {
    case $1 in
    kill)
        # The leader is stopped first, because it would start a new session for a waiting client. Each session leads its own process group,
        # and the next server refuses to start while a session still has the shared memory.
        local leader sessions process
        leader=$(head -1 "$2/data/postmaster.pid")
        kill -STOP "$leader"
        sessions=$(ps -o pid= --ppid "$leader" || true)
        kill -KILL $sessions "$leader" 2>/dev/null || true
        for process in $sessions $leader; do
            while [[ $(ps -o stat= -p "$process") == [!Z]* ]]; do sleep 0.02; done
        done
        # If process 1 is slow to reap zombies, the next server would think that this one is still alive.
        rm "$2/data/postmaster.pid"
        ;;
    start)
        # Otherwise the server would keep the caller's descriptors open. Bash reads this script from descriptor 255.
        local descriptor
        for descriptor in $(ls /proc/$$/fd 2>/dev/null); do
            ((descriptor <= 2 || descriptor == 255)) || eval "exec $descriptor>&-"
        done
        (cd "$2" && as_server "$binaries/pg_ctl" start -w -t 60 -s -D "$2/data" -l "$2/log" >>"$2/control.log" 2>&1)
        ;;
    *) sed -n '2,18p' "$0" >&2; exit 2 ;;
    esac
}

find_programs() {
    local path
    for path in /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /usr/bin /usr/local/bin; do
        if [[ -x $path/initdb && -x $path/psql ]]; then
            binaries=$path
            break
        fi
    done
    pgbouncer=$(PATH=$PATH:/usr/sbin:/usr/local/sbin command -v pgbouncer || true)
}

binaries='' pgbouncer=''
find_programs
if [[ ${1:-} == --control ]]; then
    control "$3" "$2"
    exit
fi
if (($# == 0)); then
    sed -n '2,18p' "$0" >&2
    exit 2
fi
missing=''
[[ -n $binaries ]] || missing+=' postgresql'
[[ -n $pgbouncer ]] || missing+=' pgbouncer'
if [[ -n $missing ]]; then
    echo "$0: missing:$missing. Run Scripts/install-system-packages.sh." >&2
    [[ -z ${CI:-}${SLUICE_REQUIRE_SERVERS:-} ]] || exit 1
    exec "$@"
fi

root=$(mktemp -d "${TMPDIR:-/tmp}/sluice-postgres.XXXXXX")
command_pid='' pooler_pid=''

stop() {
    local status=$? directory
    trap '' INT TERM HUP
    if [[ -n $command_pid ]]; then
        kill -TERM -- "-$command_pid" 2>/dev/null || true
        wait "$command_pid" 2>/dev/null || true
    fi
    if [[ -n $pooler_pid ]]; then
        kill -TERM "$pooler_pid" 2>/dev/null || true
        wait "$pooler_pid" 2>/dev/null || true
    fi
    for directory in "$root"/server "$root"/mortal; do
        [[ ! -e $directory/data/postmaster.pid ]] ||
            (cd "$root" && as_server "$binaries/pg_ctl" stop -s -m immediate -D "$directory/data") || true
    done
    rm -rf "$root"
    exit "$status"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

password=$(od -An -N12 -tx1 /dev/urandom | tr -d ' \n')

# start_server NAME: creates a server in $root/NAME and prints its port.
start_server() {
    local directory=$root/$1 port attempt options=()
    mkdir "$directory"
    echo "$password" >"$directory/password"
    if [[ $1 == mortal && -n ${SLUICE_MORTAL_DATA:-} ]]; then
        mkdir "$SLUICE_MORTAL_DATA/tables"
        ln -s "$SLUICE_MORTAL_DATA/tables" "$directory/data"
        options+=(--waldir="${SLUICE_MORTAL_WAL:?}/log")
        [[ $(id -u) != 0 ]] || chown -R postgres: "$SLUICE_MORTAL_DATA" "$SLUICE_MORTAL_WAL"
    fi
    [[ $(id -u) != 0 ]] || chown -R postgres: "$root"
    (cd "$directory" && as_server "$binaries/initdb" --no-sync -D data -U postgres --auth=scram-sha-256 "${options[@]}" \
        --pwfile=password --encoding=UTF8 --locale=C >"$directory/initdb.log" 2>&1) || { cat "$directory/initdb.log" >&2; return 1; }
    [[ -z ${SLUICE_POSTGRES_ADDRESS:-} ]] || echo "host all all samenet scram-sha-256" >>"$directory/data/pg_hba.conf"
    # Another process may take the port before the server does.
    for attempt in 1 2 3 4 5; do
        port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
        cat >>"$directory/data/postgresql.conf" <<END
listen_addresses = '127.0.0.1${SLUICE_POSTGRES_ADDRESS:+, $SLUICE_POSTGRES_ADDRESS}'
port = $port
unix_socket_directories = ''
max_connections = 200
shared_buffers = '64MB'
fsync = ${SLUICE_POSTGRES_FSYNC:-off}
log_min_messages = fatal
END
        if control start "$directory" >&2; then
            PGPASSWORD=$password "$binaries/psql" -X -q -v ON_ERROR_STOP=1 -h 127.0.0.1 -p "$port" -U postgres postgres >&2 <<END
CREATE ROLE sluice LOGIN PASSWORD '$password';
CREATE DATABASE sluice OWNER sluice;
CREATE DATABASE empty OWNER sluice;
END
            echo "$port"
            return
        fi
    done
    cat "$directory/log" >&2
    return 1
}

# start_pooler PORT: starts pgbouncer in front of a server, and sets `pooler_pid` and `pooler_port`.
start_pooler() {
    local directory=$root/pooler attempt
    mkdir "$directory"
    printf '"sluice" "%s"\n' "$password" >"$directory/users"
    for attempt in 1 2 3 4 5; do
        pooler_port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
        cat >"$directory/pgbouncer.ini" <<END
[databases]
sluice = host=127.0.0.1 port=$1 dbname=sluice
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $pooler_port
unix_socket_dir =
auth_type = scram-sha-256
auth_file = $directory/users
pool_mode = transaction
default_pool_size = 10
max_client_conn = 1100
END
        [[ $(id -u) != 0 ]] || chown -R postgres: "$directory"
        (as_server "$pgbouncer" -q "$directory/pgbouncer.ini" >"$directory/log" 2>&1) &
        pooler_pid=$!
        for _ in $(seq 100); do
            if (exec 3<>"/dev/tcp/127.0.0.1/$pooler_port") 2>/dev/null; then return; fi
            kill -0 "$pooler_pid" 2>/dev/null || break
            sleep 0.05
        done
    done
    cat "$directory/log" >&2
    return 1
}

port=$(start_server server)
mortal_port=$(start_server mortal)
start_pooler "$port"
export SLUICE_POSTGRES=postgres://sluice:$password@127.0.0.1:$port/sluice
export SLUICE_POSTGRES_MORTAL=postgres://sluice:$password@127.0.0.1:$mortal_port/sluice
export SLUICE_PGBOUNCER=postgres://sluice:$password@127.0.0.1:$pooler_port/sluice
SLUICE_POSTGRES_CONTROL="$(cd "$(dirname "$0")" && pwd)/postgres.sh --control $root/mortal"
export SLUICE_POSTGRES_CONTROL
# Debian's commands in /usr/bin are scripts that start these programs. That takes time, which benchmarks would include.
[[ $binaries == /usr/bin ]] || PATH=$binaries:$PATH

# In its own process group, so that a signal also reaches the command's children.
set -m
"$@" &
command_pid=$!
set +m
status=0
wait "$command_pid" || status=$?
command_pid=''
exit "$status"
