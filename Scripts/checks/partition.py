#!/usr/bin/env python3
"""Proves that a shared download queue stays correct when machines are cut off from it for longer than their lease.

    swift build --build-tests --traits PostgreSQL,Cairo,GdkPixbuf
    Scripts/checks/partition.py               # 30 seconds
    Scripts/checks/partition.py --require     # an error instead of a message if network namespaces aren't permitted

The machines are network namespaces, each with a worker. Two networks connect them: the database is in one of them, the origin in the other.
One machine is cut off from both, and one only from the database; the third one takes over their downloads. Packets are dropped, and no
connection is reset. Fails if the origin counts more requests than a limit allows; if a file is lost, wrong or published twice; if a worker
continues a transfer that it has lost; or if a worker fails. The namespaces and processes end with this script.
"""
import argparse, array, collections, fcntl, hashlib, http.server, json, os, pathlib, select, shutil, signal, socket, socketserver
import subprocess, sys, tempfile, threading, time, urllib.parse

from builds import ROOT, program

SELF = pathlib.Path(__file__).resolve()
DATABASE, ORIGINS = "10.77.1.1", ["10.77.2.1", "10.77.2.2"]
LEASE = 6
TOTAL, PER_HOST, PER_USER = 6, 4, 1
LANES, FILES_PER_LANE, SIZE = 3, 12, 400_000
# The maximum time to wait for anything. Only a failure takes that long.
PATIENCE = 120
SIOCOUTQ = 0x5411


def content(name: str) -> bytes:
    return hashlib.shake_256(name.encode()).digest(SIZE)


class Request:
    """A request that the origin is answering."""

    def __init__(self, machine: int, host: str, user: str, name: str, connection: socket.socket):
        self.machine, self.host, self.user, self.name, self.connection = machine, host, user, name, connection
        self.delivered = time.monotonic()

    def is_closed(self) -> bool:
        poll = select.poll()
        try:
            poll.register(self.connection, select.POLLRDHUP)
        except ValueError:
            return True
        return bool(poll.poll(0))

    def has_delivered(self) -> bool:
        """Whether the machine has confirmed all bytes that were sent."""
        size = array.array("i", [0])
        fcntl.ioctl(self.connection, SIOCOUTQ, size)
        return size[0] == 0


class Ledger:
    """Counts the running requests. A request from a machine that is cut off doesn't count, because no byte reaches the machine. Afterward,
    it counts again from the first byte that is confirmed."""

    def __init__(self):
        self.lock = threading.Condition()
        self.running: set[Request] = set()
        self.cut: set[int] = set()
        self.restored: dict[int, float] = {}
        self.requests: list[tuple[int, str]] = []
        self.peak = 0
        self.violations: list[str] = []

    def counts(self, request: Request) -> bool:
        return (request.machine not in self.cut and request.delivered >= self.restored.get(request.machine, 0)
                and not request.is_closed())

    def begin(self, request: Request) -> None:
        with self.lock:
            self.running.add(request)
            self.requests.append((request.machine, request.name))
            self.check(request)
            self.lock.notify_all()

    def check(self, request: Request) -> None:
        running = [other for other in self.running if self.counts(other)]
        self.peak = max(self.peak, len(running))
        for count, limit, what in [
                (len(running), TOTAL, "in total"),
                (sum(other.host == request.host for other in running), PER_HOST, f"of host {request.host}"),
                (sum(other.user == request.user for other in running), PER_USER, f"of user {request.user}"),
                (sum(other.name == request.name for other in running), 1, f"of {request.name}")]:
            if count > limit:
                machines = sorted(other.machine for other in running)
                self.violations.append(f"{count} requests {what}; the limit is {limit}; machines {machines}")

    def deliver(self, request: Request) -> None:
        with self.lock:
            restored = self.restored.get(request.machine, 0)
            if request.delivered < restored and request.machine not in self.cut:
                self.violations.append(f"machine {request.machine} went on with {request.name} after it had been cut off")
            request.delivered = time.monotonic()

    def end(self, request: Request) -> None:
        with self.lock:
            self.running.discard(request)
            self.lock.notify_all()

    def wait(self, what: str, condition) -> None:
        with self.lock:
            if not self.lock.wait_for(condition, PATIENCE):
                raise SystemExit(f"partition: after {PATIENCE} s still no {what}; violations: {self.violations}")

    def cut_off(self, machine: int) -> None:
        with self.lock:
            self.cut.add(machine)

    def restore(self, machine: int) -> None:
        with self.lock:
            self.cut.discard(machine)
            self.restored[machine] = time.monotonic()


class Origin(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 128
    ledger: Ledger
    # The transfers of these machines don't end while the network is cut.
    slow = {0, 1}

    def handle_error(self, request, client_address):
        pass


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = PATIENCE

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        _, user, name = urllib.parse.urlsplit(self.path).path.split("/")
        machine = int(self.client_address[0].rsplit(".", 1)[1]) - 11
        ledger = self.server.ledger
        request = Request(machine, self.headers["Host"], user, name, self.connection)
        is_slow = machine in self.server.slow
        ledger.begin(request)
        try:
            self.answer(name, is_slow, request)
        finally:
            ledger.end(request)

    def answer(self, name: str, is_slow: bool, request: Request) -> None:
        body, start = content(name), 0
        given = self.headers.get("Range", "")
        if given.startswith("bytes=") and given.endswith("-"):
            start = int(given[6:-1])
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(SIZE - start))
        self.send_header("ETag", f'"{name}"')
        if start:
            self.send_header("Content-Range", f"bytes {start}-{SIZE - 1}/{SIZE}")
        self.end_headers()
        # First more bytes than one write of a transfer, so that there is a partial file; then a few at a time.
        first = 300_000 if is_slow else 100_000
        place = start
        while place < SIZE - 1:
            piece = body[place:min(SIZE - 1, place + (first if place == start else 100 if is_slow else 60_000))]
            self.wfile.write(piece)
            place += len(piece)
            while not request.has_delivered():
                if request.is_closed():
                    raise ConnectionResetError
                time.sleep(0.01)
            self.server.ledger.deliver(request)
            time.sleep(0.2 if is_slow else 0.02)
            if is_slow and request.is_closed():
                raise ConnectionResetError
        self.server.ledger.end(request)
        self.wfile.write(body[-1:])


def run(*command: str, **options) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=PATIENCE, **options).stdout


class Machine:
    """A network namespace with an address in both networks."""

    def __init__(self, number: int):
        self.number = number
        self.holder = subprocess.Popen(["unshare", "-n", "sleep", "infinity"])
        mine = os.readlink("/proc/self/ns/net")
        while os.readlink(f"/proc/{self.holder.pid}/ns/net") == mine:
            time.sleep(0.01)
        self.inside("ip", "link", "set", "lo", "up")
        for place, network in enumerate(["data", "web"], start=1):
            port, peer = f"{network}{number}", f"inner{network}"
            run("ip", "link", "add", port, "type", "veth", "peer", "name", peer, "netns", str(self.holder.pid))
            run("ip", "link", "set", port, "master", network, "up")
            self.inside("ip", "address", "add", f"10.77.{place}.{11 + number}/24", "dev", peer)
            self.inside("ip", "link", "set", peer, "up")

    def inside(self, *command: str) -> str:
        return run("nsenter", "-t", str(self.holder.pid), "-n", *command)

    def start(self, *command: str) -> subprocess.Popen:
        return subprocess.Popen(["nsenter", "-t", str(self.holder.pid), "-n", *command],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    # The bridge drops the machine's packets. The machine sees no change of its own link.
    def cut(self, *networks: str) -> None:
        for network in networks:
            run("ip", "link", "set", f"{network}{self.number}", "nomaster")

    def restore(self, *networks: str) -> None:
        for network in networks:
            run("ip", "link", "set", f"{network}{self.number}", "master", network)


def sql(url: str, statement: str) -> list:
    psql = shutil.which("psql") or str(max(pathlib.Path("/usr/lib/postgresql").glob("*/bin/psql")))
    query = f"SELECT coalesce(json_agg(row_to_json(found)), '[]') FROM ({statement}) AS found"
    return json.loads(run(psql, "-X", "-A", "-t", "-c", query, url))


def limits_of_store(url: str) -> list[str]:
    """Replays the events, which the store has numbered under its lock. Returns the violations: what exceeded a limit, or was done twice."""
    jobs = {row["id"]: row for row in sql(url, "SELECT id, host, name, state FROM partition.job")}
    violations = [f"{job['name']} has the state {job['state']}" for job in jobs.values() if job["state"] != 2]
    running: dict[int, tuple[str, str]] = {}
    done = collections.Counter()
    for event in sql(url, "SELECT number, job, kind, user_name FROM partition.event ORDER BY number"):
        if event["kind"] == "started":
            running[event["job"]] = (jobs[event["job"]]["host"], event["user_name"])
            for count, limit in [(len(running), TOTAL),
                                 (max(collections.Counter(host for host, _ in running.values()).values()), PER_HOST),
                                 (max(collections.Counter(user for _, user in running.values()).values()), PER_USER)]:
                if count > limit:
                    violations.append(f"event {event['number']}: the store let {count} run; the limit is {limit}")
        elif event["kind"] in ("done", "failed", "cancelled", "released", "retrying", "paused"):
            running.pop(event["job"], None)
            done[event["job"]] += event["kind"] == "done"
    return violations + [f"{jobs[job]['name']} was done {done[job]} times" for job in jobs if done[job] != 1]


def work() -> None:
    """Runs in the namespaces, with the servers of postgres.sh."""
    given = urllib.parse.urlsplit(os.environ["SLUICE_POSTGRES"])
    local = given.geturl()
    url = given._replace(netloc=f"{given.username}:{given.password}@{DATABASE}:{given.port}").geturl()
    directory = pathlib.Path(tempfile.mkdtemp(prefix="sluice-partition."))
    machines, workers = [], []
    server = Origin(("0.0.0.0", 0), Handler)
    server.ledger = ledger = Ledger()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        machines = [Machine(number) for number in range(LANES)]
        files = directory / "files"
        files.mkdir()
        names = []
        with open(directory / "list", "w") as listing:
            for number in range(LANES * FILES_PER_LANE):
                lane, place = number % LANES, number // LANES
                user, host = f"u{2 * lane + place % 2}", ORIGINS[place // 2 % 2]
                names.append(f"song-{number}")
                listing.write(f"song-{number} http://{host}:{server.server_port}/{user}/song-{number} {user} lane{lane}\n")
        worker = [str(program("CrashWorker")), "--db", url, "--namespace", "partition", "--directory", str(files),
                  "--total", str(TOTAL), "--per-host", str(PER_HOST), "--per-user", str(PER_USER), "--lease", str(LEASE),
                  "--durability", "none"]
        adding = machines[2].start(*worker, "--add", str(directory / "list"))
        if adding.wait(PATIENCE) != 0:
            raise SystemExit(f"partition: the files can't be enqueued: {adding.stderr.read()}")

        def of(*numbers: int) -> int:
            return sum(request.machine in numbers for request in ledger.running)

        # Each of the first two works on its own users' files. The third one takes what they leave.
        for number in (0, 1):
            workers.append(machines[number].start(*worker, "--batch", f"lane{number}"))
            ledger.wait(f"work of machine {number}", lambda: of(number) >= 2)
        held = {request.name for request in ledger.running}
        workers.append(machines[2].start(*worker))
        ledger.wait("work of machine 2", lambda: of(2) >= 1)

        began = time.monotonic()
        ledger.cut_off(0)
        machines[0].cut("data", "web")
        machines[1].cut("data")
        # The third one takes over all that they held, after their leases have expired.
        ledger.wait("takeover", lambda: held <= {name for machine, name in ledger.requests if machine == 2})
        ledger.wait("end of the transfers without a lease", lambda: of(1) == 0)
        taken = time.monotonic() - began
        if taken < LEASE / 2:
            ledger.violations.append(f"the files were taken over after {taken:.1f} s, before the leases expired")
        before = {path.name: path.stat().st_ino for path in files.iterdir() if ".sluice" not in path.name}
        server.slow = set()
        ledger.restore(0)
        machines[0].restore("data", "web")
        machines[1].restore("data")
        problems = []
        for number, process in enumerate(workers):
            try:
                _, errors = process.communicate(timeout=PATIENCE)
                if process.returncode != 0:
                    problems.append(f"worker {number} ended with {process.returncode}: {errors[-2000:]}")
            except subprocess.TimeoutExpired:
                problems.append(f"worker {number} didn't end")
        problems += ledger.violations
        problems += limits_of_store(local)
        found = {path.name: path for path in files.iterdir()}
        problems += [f"{name} is missing" for name in names if name not in found]
        problems += [f"{name} is left" for name in found if name not in names]
        problems += [f"{name} is wrong" for name in names if name in found and found[name].read_bytes() != content(name)]
        problems += [f"{name} was published twice" for name, inode in before.items() if found[name].stat().st_ino != inode]
        repeated = sum(count - 1 for count in collections.Counter(name for _, name in ledger.requests).values())
        print(f"partition: {len(names)} files, {len(held)} taken over after {taken:.1f} s with a lease of {LEASE} s, "
              f"{repeated} requests repeated, at most {ledger.peak} concurrently")
        if problems:
            sys.exit("\n".join(problems))
    finally:
        for process in [*workers, *(machine.holder for machine in machines)]:
            if process.poll() is None:
                process.kill()
                process.wait()
        server.shutdown()
        shutil.rmtree(directory)


def networks() -> None:
    """Runs in a new network namespace: creates the two networks, and starts the servers."""
    run("ip", "link", "set", "lo", "up")
    # A port that has left its bridge must not answer for the addresses of the bridge, not even because it has the same hardware address.
    pathlib.Path("/proc/sys/net/ipv4/conf/all/arp_ignore").write_text("1")
    for number, (network, addresses) in enumerate([("data", [DATABASE]), ("web", ORIGINS)]):
        run("ip", "link", "add", network, "address", f"02:00:00:77:00:0{number}", "type", "bridge")
        for address in addresses:
            run("ip", "address", "add", f"{address}/24", "dev", network)
        run("ip", "link", "set", network, "up")
    servers = subprocess.Popen([str(ROOT / "Scripts/checks/postgres.sh"), str(SELF), "--work"],
                               env=os.environ | {"SLUICE_POSTGRES_ADDRESS": DATABASE, "SLUICE_REQUIRE_SERVERS": "1"})
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: servers.terminate())
    sys.exit(servers.wait())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--require", action="store_true", help="fail if network namespaces aren't permitted")
    parser.add_argument("--networks", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        # Raise an exception, so that the processes end, too.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        return work()
    if options.networks:
        return networks()
    program("CrashWorker")
    if os.geteuid() != 0 or not shutil.which("ip") or subprocess.run(
            ["unshare", "-n", "-m", "ip", "link", "add", "data", "type", "bridge"], stderr=subprocess.DEVNULL).returncode != 0:
        message = "network namespaces need root, unshare(1), and ip(8) of the package iproute2"
        sys.exit(message if options.require else print(f"skipped: {message}"))
    os.execvp("unshare", ["unshare", "-n", "-m", "--propagation", "private", sys.executable, str(SELF), "--networks"])


main()
