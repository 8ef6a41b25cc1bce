"""A caching proxy between a client and a scripted origin, for the checks. Client and origin write and read raw bytes."""
import atexit, os, pathlib, re, select, shutil, signal, socket, struct, subprocess, sys, threading

from builds import program

# The maximum time to wait for anything. Only a failure takes that long.
PATIENCE = 30

# So that a timeout ends the proxies, too.
signal.signal(signal.SIGTERM, lambda *_: sys.exit("The check was ended by SIGTERM."))


class Message:
    """The head and the body of a request or a response."""

    def __init__(self, start: str, fields: list[tuple[str, str]], body: bytes):
        self.start, self.fields, self.body = start, fields, body

    def all(self, name: str) -> list[str]:
        return [value for other, value in self.fields if other.lower() == name.lower()]

    def get(self, name: str) -> str | None:
        """Returns the value of a field, with its lines joined, or None if the field is absent."""
        values = self.all(name)
        return ", ".join(values) if values else None

    @property
    def method(self) -> str:
        return self.start.split(" ")[0]

    @property
    def target(self) -> str:
        return self.start.split(" ")[1]

    @property
    def status(self) -> int:
        return int(self.start.split(" ")[1])

    def __str__(self) -> str:
        return f"{self.start} {self.fields} {self.body[:80]!r}"


class Reader:
    """Reads messages from a connection."""

    def __init__(self, connection: socket.socket):
        self.connection, self.buffer = connection, b""

    def message(self, answers: str | None = None) -> Message | None:
        """Returns the next message, or None if the connection ends before it. `answers` is the method that a response answers."""
        while b"\r\n\r\n" not in self.buffer:
            if not self._more():
                return None
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        start, *lines = head.decode("utf-8", "surrogateescape").split("\r\n")
        fields = [(name, value.strip(" \t")) for name, value in (line.split(":", 1) for line in lines)]
        message = Message(start, fields, b"")
        status = message.status if answers else None
        coding, length = message.get("Transfer-Encoding"), message.get("Content-Length")
        if answers == "HEAD" or status is not None and (status < 200 or status in (204, 304)):
            return message
        if coding == "chunked":
            while size := int(self._line(), 16):
                message.body += self._bytes(size)
                self._bytes(2)
            while self._line():
                pass
        elif length is not None:
            message.body = self._bytes(int(length))
        elif answers:
            message.body = self.rest()
        return message

    def rest(self) -> bytes:
        """Returns what arrives until the end of the connection."""
        while self._more():
            pass
        rest, self.buffer = self.buffer, b""
        return rest

    def _more(self) -> bool:
        try:
            received = self.connection.recv(1 << 16)
        except ConnectionResetError:
            return False
        self.buffer += received
        return bool(received)

    def _line(self) -> str:
        while b"\r\n" not in self.buffer:
            if not self._more():
                raise ConnectionError("the connection ended within a message")
        line, self.buffer = self.buffer.split(b"\r\n", 1)
        return line.decode()

    def _bytes(self, count: int) -> bytes:
        while len(self.buffer) < count:
            if not self._more():
                raise ConnectionError("the connection ended within a message")
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken


class Origin:
    """A server on loopback. `answer` returns the bytes of the response to a request. After them, the connection ends."""

    def __init__(self, answer):
        self.answer, self.requests = answer, []
        self.changed = threading.Condition()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket):
        connection.settimeout(PATIENCE)
        with connection:
            try:
                request = Reader(connection).message()
                if request is None:
                    return
                with self.changed:
                    self.requests.append(request)
                    self.changed.notify_all()
                connection.sendall(self.answer(request))
            except OSError:
                # The proxy has ended the exchange.
                pass

    def taken(self) -> list[Message]:
        """Returns the requests since the last call."""
        with self.changed:
            requests, self.requests = self.requests, []
            return requests

    def wait(self, count: int):
        with self.changed:
            if not self.changed.wait_for(lambda: len(self.requests) >= count, timeout=PATIENCE):
                raise TimeoutError(f"the origin got {len(self.requests)} requests instead of {count}")


def response(status: int, fields: list[tuple[str, str]] = [], body: bytes | None = b"") -> bytes:
    """Returns the bytes of a response that ends its connection. Without a body, the response has no Content-Length."""
    lines = [f"HTTP/1.1 {status} Status", *(f"{name}: {value}" for name, value in fields)]
    if body is not None and not any(name.lower() in ("content-length", "transfer-encoding") for name, _ in fields):
        lines.append(f"Content-Length: {len(body)}")
    lines.append("Connection: close")
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape") + (body or b"")


class Clock:
    """The wall clock of a proxy."""

    def __init__(self, directory: pathlib.Path):
        self.file, self.library = directory / "clock", directory / "fixed-clock.so"
        compiler = shutil.which("clang") or shutil.which("cc") or sys.exit("There is no C compiler. Install clang.")
        source = pathlib.Path(__file__).with_name("fixed-clock.c")
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", self.library, source], check=True)
        self.set(784_111_777)

    def set(self, seconds: int):
        self.now = seconds
        with open(self.file, "r+b" if self.file.exists() else "wb", buffering=0) as file:
            file.write(struct.pack("=q", seconds))

    @property
    def environment(self) -> dict[str, str]:
        return {"LD_PRELOAD": str(self.library), "FIXED_CLOCK": str(self.file)}


class Proxy:
    """The proxy's process."""

    def __init__(self, origin: str, directory: pathlib.Path, clock: Clock | None = None):
        environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
        environment |= clock.environment if clock else {}
        self.process = subprocess.Popen(
            [program("CachingProxy"), "--origin", origin, "--port", "0", "--directory", directory],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=environment)
        atexit.register(self.process.kill)
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        line = self.process.stdout.readline() if ready else ""
        match = re.fullmatch(r"Listening on http://127\.0\.0\.1:(\d+)\n", line)
        if not match:
            self.process.kill()
            sys.exit(f"The proxy printed {line!r} instead of its address.")
        self.port = int(match[1])

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def ask(self, method: str, target: str, fields: list[tuple[str, str]] = [], body: bytes | None = None) -> Message:
        """Sends one request over its own connection. Raises if anything other than one response arrives."""
        with self.connect() as connection:
            connection.sendall(request(method, target, [*fields, ("Connection", "close")], body))
            reader = Reader(connection)
            message = reader.message(method)
            while message is not None and message.status < 200:
                message = reader.message(method)
            if message is None:
                raise ConnectionError("the proxy has closed the connection without a response")
            if rest := reader.rest():
                raise ConnectionError(f"the response to {method} is followed by {rest[:80]!r}")
            return message

    def end(self, number: int = signal.SIGTERM) -> int:
        """Sends a signal, and returns the exit code."""
        self.process.send_signal(number)
        try:
            return self.process.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


def request(method: str, target: str, fields: list[tuple[str, str]] = [], body: bytes | None = None) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", "Host: proxy.test", *(f"{name}: {value}" for name, value in fields)]
    if body is not None and not any(name.lower() in ("content-length", "transfer-encoding") for name, _ in fields):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape") + (body or b"")
