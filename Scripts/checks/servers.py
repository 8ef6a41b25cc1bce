"""Servers and a relay on 127.0.0.1 for the checks. Each ends with its context.

    with servers.nginx(work, port, f"server {{ listen 127.0.0.1:{port}; root {root}; }}"):
        …
"""
import contextlib, pathlib, signal, socket, subprocess, sys, threading, time


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def program_server(arguments: list, port: int, log: pathlib.Path, environment: dict[str, str] | None = None):
    """Runs a server in the foreground until its context ends. Waits until the port accepts connections."""
    with open(log, "ab") as output:
        process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment)
    try:
        deadline = time.monotonic() + 20
        while True:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            if process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"{arguments[0]} did not start: {log.read_text()}")
            time.sleep(0.05)
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def nginx(work: pathlib.Path, port: int, servers: str, http: str = ""):
    """Runs nginx with these `server` blocks, one of which listens on the port, and with further settings of the `http` block.

    If the script runs as root, nginx's workers drop root privileges, so they must be able to read the files.
    """
    temporary = "".join(f"{name}_temp_path {work}/{name};" for name in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"])
    configuration = work / "nginx.conf"
    configuration.write_text(f"""
        daemon off; master_process off; pid {work}/nginx.pid; error_log {work}/error.log;
        events {{ worker_connections 1024; }}
        http {{ access_log off; {temporary} {http} {servers} }}""")
    return program_server(
        ["nginx", "-e", f"{work}/error.log", "-p", str(work), "-c", str(configuration)], port, work / "error.log")


def certificate(work: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path]:
    """Makes a certificate for 127.0.0.1 that signs itself, and its key."""
    files = work / "certificate.pem", work / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-out", files[0], "-keyout", files[1], "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"],
        check=True, stderr=subprocess.DEVNULL)
    return files


class Relay:
    """A port that passes connections on to a server, counts them, and can cut them in the middle of a response.

        with servers.Relay(port) as relay:
            with relay.cutting(1_000_000, connections=1):
                … relay.port …
    """

    def __init__(self, target: int, cut: int | None = None):
        # After how many bytes of the server a connection ends, and how many more connections there may be.
        self.target, self.cut, self.left, self.connections = target, cut, None, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]

    def __enter__(self):
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_) -> None:
        self.listener.close()

    @contextlib.contextmanager
    def cutting(self, cut: int, connections: int):
        """Cuts connections that begin while the context runs, and refuses further ones after some of them."""
        self.cut, self.left = cut, connections
        yield
        self.cut = self.left = None
        if self.listener.fileno() < 0:
            self.listener = socket.create_server(("127.0.0.1", self.port))
            self.__enter__()

    def accept(self) -> None:
        listener = self.listener
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                self.connections += 1
                if self.left is not None:
                    self.left -= 1
                    if self.left == 0:
                        listener.close()
                upstream = socket.create_connection(("127.0.0.1", self.target))
                threading.Thread(target=self.send, args=(client, upstream), daemon=True).start()
                threading.Thread(target=self.receive, args=(upstream, client, self.cut), daemon=True).start()

    @staticmethod
    def send(client: socket.socket, upstream: socket.socket) -> None:
        # To the client's end, even after the cut: bytes that nobody reads would make the system reset the connection, and what the client
        # hasn't read yet would be lost.
        with contextlib.suppress(OSError):
            while data := client.recv(1 << 16):
                with contextlib.suppress(OSError):
                    upstream.sendall(data)
        for end in (client, upstream):
            end.close()

    @staticmethod
    def receive(upstream: socket.socket, client: socket.socket, left: int | None) -> None:
        with contextlib.suppress(OSError):
            while left != 0 and (data := upstream.recv(1 << 16 if left is None else min(1 << 16, left))):
                client.sendall(data)
                left = None if left is None else left - len(data)
        for end, how in [(upstream, socket.SHUT_RDWR), (client, socket.SHUT_WR)]:
            with contextlib.suppress(OSError):
                end.shutdown(how)
