#!/usr/bin/env python3
"""Proves that Examples/CachingProxy caches as RFC 9111 specifies, forwards the rest unchanged, and starts and stops cleanly.

    swift build --build-tests
    swift build --package-path Examples/CachingProxy --scratch-path .build
    Scripts/checks/caching-proxy.py                   # about a minute
    Scripts/checks/caching-proxy.py --only "5861 3"   # the cases of RFC 9111 whose section and claim contain the text

An origin on loopback sends each case's responses and records the bytes that it gets.

The cases of RFC 9111 come from Tests/SluiceCacheTests/Policy. The tests write them as JSON. The proxy's clock stands still unless the check
moves it. Fails if a request or a response differs, or if fewer than 500 cases pass. Cases that can't be run through a proxy are counted by
reason.
"""
import argparse, collections, email.utils, json, os, pathlib, re, signal, socket, subprocess, sys, tempfile, threading, time

from builds import program
from proxied import PATIENCE, Clock, Message, Origin, Proxy, Reader, request, response

LIMIT = 64 << 20
FRESH = ("Cache-Control", "max-age=3600")
# Sun, 06 Nov 1994 08:49:37 GMT, as in PolicyScenario
START = 784_111_777
# Absent from a request unless the case names them.
CONDITIONS = ["If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since", "If-Range", "Range"]


class Failed(Exception):
    pass


def expect(actual, expected, what: str):
    if actual != expected:
        raise Failed(f"{what} is {actual!r} instead of {expected!r}")


class Session:
    """A proxy, and an origin whose next response a check sets."""

    def __init__(self, directory: pathlib.Path):
        self.directory = directory
        self.next = response(200)
        self.origin = Origin(lambda _: self.next)
        self.proxy = Proxy(self.origin.url, directory)

    def ask(self, method: str, target: str, *arguments, answer: bytes | None = None) -> tuple[Message, Message | None]:
        """Returns the response, and the request that the origin got, if any."""
        if answer is not None:
            self.next = answer
        message = self.proxy.ask(method, target, *arguments)
        requests = self.origin.taken()
        if len(requests) > 1:
            raise Failed(f"the origin got {len(requests)} requests")
        return message, requests[0] if requests else None


# MARK: What it forwards, and how it starts and ends


def forwards_methods_and_bodies(session: Session):
    body = bytes(range(256)) * 300
    for method in ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "FROB", "M-SEARCH", "PROPFIND", "get", "X!#$%&'*+-.^_`|~9"]:
        for sent in [None, b"", body]:
            answer, got = session.ask(method, "/method", [], sent, answer=response(200, [], b"answer"))
            expect((got.method, got.body), (method, sent or b""), "the request")
            expect((answer.status, answer.body), (200, b"answer"), f"the response to {method}")
            if sent is not None:
                expect(got.get("Content-Length"), str(len(sent)), "Content-Length")
            elif method == "GET":
                expect(got.get("Content-Length"), None, "Content-Length")
    # The origin gets a chunked body with its length. A line end in the body doesn't end the request.
    chunked = b"5\r\nab\r\nc\r\n4;x=y\r\nFROB\r\n0\r\nX-Trailer: 1\r\n\r\n"
    _, got = session.ask("PUT", "/chunked", [("Transfer-Encoding", "chunked")], chunked)
    expect((got.body, got.get("Transfer-Encoding"), got.get("Content-Length")), (b"ab\r\ncFROB", None, "9"), "a chunked body")


def forwards_targets(session: Session):
    for target in [
        "/", "/a/b?c=d&e", "/a%20b/%2F%2e?%20%ff", "//a//b/", "/a/../b/./c", "/?", "/??a?b", "/a;b=c,d:e@f$g!h'(i)*+",
        "/caf%C3%A9", "/a+b?c+d=http://x/y", "/http://other.test/", "/:80/x", "/" + "x" * 8000,
    ]:
        _, got = session.ask("GET", target)
        expect(got.target, target, "the target")
    # A URL can't contain these characters, so they are percent-encoded.
    _, got = session.ask("GET", '/a%20|b"c%?{d}^%zz[%7c]%f')
    expect(got.target, "/a%20%7Cb%22c%25?%7Bd%7D%5E%25zz%5B%7c%5D%25f", "the target")
    _, got = session.ask("GET", "http://other.test/absolute?x")
    expect((got.target, got.get("Host")), ("/absolute?x", f"127.0.0.1:{session.origin.port}"), "the target")
    for target in ["*", "other.test:443"]:
        answer, got = session.ask("OPTIONS" if target == "*" else "CONNECT", target)
        expect((answer.status in (400, 501), got), (True, None), "the response")


def forwards_fields(session: Session):
    fields = [
        ("X-Repeated", "1"), ("X-Repeated", "2, 3"), ("X-Empty", ""), ("X-Spaces", "a  b"), ("X-Text", "ä \"q\""), ("x-lower", "A"),
        ("Cookie", "a=1; b=2"), ("Accept-Encoding", "br"), ("User-Agent", "own/1"), ("Accept", "text/*"), ("X-Forwarded-For", "10.0.0.1"),
        ("X-Long", "l" * 20_000), ("Authorization", "Basic YTpi"), ("Range", "bytes=0-1"), ("If-None-Match", 'W/"a"'),
    ]
    _, got = session.ask("GET", "/fields", fields)
    for name in {name for name, _ in fields}:
        expect(got.all(name), [value for other, value in fields if other == name], name)
    added = {name.lower() for name, _ in got.fields} - {name.lower() for name, _ in fields}
    expect(added, {"host", "via"}, "what the proxy adds")
    expect(got.get("Host"), f"127.0.0.1:{session.origin.port}", "Host")
    _, got = session.ask("GET", "/fields")
    # Neither of the two added fields changes the meaning of the request.
    expect(got.get("Accept"), "*/*", "Accept")
    expect({name.lower() for name, _ in got.fields}, {"host", "via", "accept", "accept-encoding"}, "the fields of a request without fields")


def removes_connection_fields(session: Session):
    fields = [
        ("Keep-Alive", "timeout=5"), ("Proxy-Authorization", "Basic x"), ("Proxy-Connection", "close"), ("Proxy-Anything", "x"),
        ("TE", "trailers"), ("Trailer", "X-T"), ("Upgrade", "websocket"), ("X-A", "1"), ("X-B", "2"), ("X-C", "3"),
    ]
    listed = ("Connection", "X-A ,x-b, upgrade")
    answer, got = session.ask("GET", "/hop", [*fields, listed], answer=response(200, [*fields, listed, ("Proxy-Authenticate", "x")]))
    removed = [name for name, _ in fields if name != "X-C"] + ["Transfer-Encoding"]
    for name in removed:
        expect((got.get(name), answer.get(name)), (None, None), name)
    expect((got.get("X-C"), answer.get("X-C")), ("3", "3"), "X-C")
    expect([value for value in got.all("Connection") if value != "close"], [], "Connection")
    chunked = response(200, [("Transfer-Encoding", "chunked"), ("Trailer", "X-T")], b"3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n")
    answer, _ = session.ask("GET", "/hop2", answer=chunked)
    expect((answer.body, answer.get("Content-Length"), answer.get("Transfer-Encoding")), (b"abc", "3", None), "a chunked response")


def returns_redirects_and_cookies(session: Session):
    for status in [300, 301, 302, 303, 307, 308]:
        moved = response(status, [("Location", "http://other.test/x?y"), FRESH, ("Set-Cookie", "a=1, 2"), ("Set-Cookie", "b=2")], b"moved")
        for number in [1, 2]:
            answer, got = session.ask("GET", f"/{status}", answer=moved)
            expect((answer.status, answer.get("Location"), answer.body), (status, "http://other.test/x?y", b"moved"), "a redirect")
            expect(answer.all("Set-Cookie"), ["a=1, 2", "b=2"], "Set-Cookie")
            expect((got is None, answer.get("Age") is None), (number == 2, number == 1), "whether the redirect comes from the cache")


def adds_a_date(session: Session):
    own = "Sun, 06 Nov 1994 08:49:37 GMT"
    answer, _ = session.ask("GET", "/date", answer=response(200, [("Date", own)], b"x"))
    expect(answer.all("Date"), [own], "Date")
    answer, _ = session.ask("GET", "/date", answer=response(200, [], b"x"))
    (date,) = answer.all("Date")
    age = time.time() - email.utils.parsedate_to_datetime(date).timestamp()
    expect((0 <= age < PATIENCE, date.endswith(" GMT")), (True, True), f"whether the date is {date}")


def drops_interim_responses(session: Session):
    interim = response(103, [("Link", "</a>; rel=preload")], None) + response(100, [], None)
    answer, _ = session.ask("GET", "/interim", answer=interim + response(200, [], b"final"))
    expect((answer.status, answer.body, answer.get("Link")), (200, b"final", None), "the final response")


def announces_lengths(session: Session):
    answer, _ = session.ask("HEAD", "/head", answer=response(200, [("Content-Length", "1234")], None))
    expect((answer.status, answer.get("Content-Length")), (200, "1234"), "the response to HEAD")
    answer, _ = session.ask("HEAD", "/head2", answer=response(200, [("X", "1")], None))
    expect((answer.status, answer.get("Content-Length")), (200, None), "the response to HEAD without a length")
    answer, _ = session.ask("HEAD", "/head3", answer=response(404, [("Content-Length", "7")], None))
    expect((answer.status, answer.get("Content-Length")), (404, "7"), "the response to HEAD")
    for status in [204, 304]:
        answer, _ = session.ask("GET", f"/{status}", [("If-None-Match", '"a"')], answer=response(status, [("ETag", '"a"')], None))
        expect((answer.status, answer.get("Content-Length"), answer.get("Transfer-Encoding")), (status, None, None), f"a {status}")
    answer, _ = session.ask("GET", "/until-end", answer=response(200, [FRESH], None) + b"until the end")
    expect((answer.body, answer.get("Content-Length")), (b"until the end", "13"), "a body that the end of the connection ends")
    answer, _ = session.ask("HEAD", "/until-end")
    expect((answer.status, answer.body), (200, b""), "HEAD from the cache")


def keeps_connections_in_step(session: Session):
    """Sends several requests over one connection, in one write and byte by byte, with all kinds of framing."""
    session.next = response(200, [("X", "1")], None)
    parts = [
        request("HEAD", "/1"), request("FROB", "/2"), request("PUT", "/3", [], b"FROB / HTTP/1.1\r\n\r\n"), b"\r\n" + request("GET", "/4"),
        request("POST", "/5", [("Transfer-Encoding", "chunked")], b"3\r\na\r\n\r\n0\r\n\r\n"), request("HEAD", "/6"), request("M-SEARCH", "/7"),
    ]
    methods = ["HEAD", "FROB", "PUT", "GET", "POST", "HEAD", "M-SEARCH"]
    for size in [1 << 20, 1, 7]:
        with session.proxy.connect() as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            everything = b"".join(parts)
            for start in range(0, len(everything), size):
                connection.sendall(everything[start:start + size])
            reader = Reader(connection)
            for method in methods:
                expect(reader.message(method).status, 200, f"the response to {method}")
            connection.shutdown(socket.SHUT_WR)
            expect(reader.rest(), b"", "what follows the responses")
        expect([got.method for got in session.origin.taken()], methods, "the methods")
    for method in ["GET", "HEAD", "FROB"]:
        with session.proxy.connect() as connection:
            # An HTTP/1.0 client waits for the end of the connection.
            connection.sendall(f"{method} /old HTTP/1.0\r\n\r\n".encode())
            reader = Reader(connection)
            expect((reader.message(method).status, reader.rest()), (200, b""), "the response to HTTP/1.0")
    session.origin.taken()
    for text in [b"GET\r\n\r\n", b"GE(T / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\r\n\r\n", b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n"]:
        with session.proxy.connect() as connection:
            connection.sendall(text)
            answer = Reader(connection).message("GET")
            expect(answer.status if answer else 400, 400, f"the response to {text!r}")
    expect(session.origin.taken(), [], "what the origin gets")


def continues_and_limits_bodies(session: Session):
    session.next = response(200, [], b"ok")
    with session.proxy.connect() as connection:
        connection.sendall(request("PUT", "/continue", [("Content-Length", "3"), ("Expect", "100-continue")]))
        reader = Reader(connection)
        expect(reader.message("PUT").status, 100, "the interim response")
        connection.sendall(b"abc")
        expect(reader.message("PUT").status, 200, "the response")
    (got,) = session.origin.taken()
    expect((got.body, got.get("Expect")), (b"abc", None), "the request")
    for expectation in [[], [("Expect", "100-continue")]]:
        with session.proxy.connect() as connection:
            connection.sendall(request("PUT", "/large", [("Content-Length", str(LIMIT + 1)), *expectation]))
            expect(Reader(connection).message("PUT").status, 413, "the response to a body that is too large")
    # Without an announced length, the proxy notices only later that the body is too large.
    chunk = b"100000\r\n" + bytes(1 << 20) + b"\r\n"
    with session.proxy.connect() as connection:
        connection.sendall(request("PUT", "/large", [("Transfer-Encoding", "chunked")]))
        for _ in range(LIMIT >> 20):
            connection.sendall(chunk)
        connection.sendall(b"1\r\nx\r\n0\r\n\r\n")
        expect(Reader(connection).message("PUT").status, 413, "the response to a body that is too large")
    expect(session.origin.taken(), [], "what the origin gets")


def reports_failures(session: Session):
    cases = [
        (b"", "closed the connection"), (b"nonsense\r\n\r\n", "isn't valid HTTP"), (response(200, [("Content-Length", "9")], b"short"), "."),
        (response(200, [("Transfer-Encoding", "gzip")], b"x"), "transfer coding"), (response(200, [("Content-Length", str(LIMIT + 1))], b""), "large"),
    ]
    for bytes_sent, words in cases:
        for method in ["GET", "HEAD"]:
            if method == "HEAD" and bytes_sent.startswith(b"HTTP"):
                continue
            answer, _ = session.ask(method, "/failure", answer=bytes_sent)
            expect((answer.status, answer.get("Content-Type")), (502, "text/plain; charset=utf-8"), "the response")
            text = answer.body.decode()
            if method == "GET" and (words not in text or text.count("\n") != 1 or not text.endswith("\n")):
                raise Failed(f"the text doesn't explain the failure: {text!r}")
    unheard = socket.socket()
    unheard.bind(("127.0.0.1", 0))
    proxy = Proxy(f"http://127.0.0.1:{unheard.getsockname()[1]}/", session.directory.with_name("refused"))
    answer = proxy.ask("GET", "/refused")
    expect((answer.status, b"refused" in answer.body, b"Check that a server listens" in answer.body), (502, True, True), "the response")
    expect(proxy.end(), 0, "the exit code")


def ends_gracefully(session: Session):
    for number in [signal.SIGTERM, signal.SIGINT]:
        waits, goes_on = threading.Event(), threading.Event()

        def answer(got: Message) -> bytes:
            waits.set()
            goes_on.wait(PATIENCE)
            return response(200, [FRESH], b"last")

        origin = Origin(answer)
        directory = session.directory.with_name(f"ended-{number}")
        proxy = Proxy(origin.url, directory)
        with proxy.connect() as idle, proxy.connect() as running:
            running.sendall(request("GET", "/last"))
            waits.wait(PATIENCE)
            proxy.process.send_signal(number)
            # When the idle connection ends, the proxy is shutting down.
            expect(Reader(idle).rest(), b"", "what an idle connection gets")
            goes_on.set()
            expect(Reader(running).message("GET").body, b"last", "the response to the running request")
        expect(proxy.process.wait(timeout=PATIENCE), 0, "the exit code")
        # The response was stored.
        proxy = Proxy(origin.url, directory)
        expect(proxy.ask("GET", "/last").body, b"last", "the stored response")
        expect(len(origin.taken()), 1, "the number of requests")
        expect(proxy.end(number), 0, "the exit code")


def explains_its_options(session: Session):
    port, directory = str(session.proxy.port), str(session.directory.with_name("other"))
    origin = ["--origin", "http://127.0.0.1:1"]
    for arguments, words in [
        ([], "--origin"), (origin, "--directory"), (["--origin", "ftp://a", "--directory", directory], "Use http or https"),
        (["--origin", "http://a/b", "--directory", directory], "without path"), ([*origin, "--directory", ""], "--directory"),
        ([*origin, "--directory", directory, "--port", "70000"], "65535"), ([*origin, "--directory", directory, "--port", port], "--port 0"),
        ([*origin, "--directory", "/dev/null/cache"], "/dev/null"),
    ]:
        result = subprocess.run(
            [program("CachingProxy"), *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
        if result.returncode == 0 or words not in result.stderr or result.stdout:
            raise Failed(f"{arguments} ended with {result.returncode}: {result.stderr}")


def check_forwarding(directory: pathlib.Path) -> list[str]:
    """Returns the problems."""
    checks = [
        forwards_methods_and_bodies, forwards_targets, forwards_fields, removes_connection_fields, returns_redirects_and_cookies,
        adds_a_date, drops_interim_responses, announces_lengths, keeps_connections_in_step, continues_and_limits_bodies, reports_failures, ends_gracefully,
        explains_its_options,
    ]
    problems = []
    session = Session(directory / "forwarded")
    for check in checks:
        name = check.__name__.replace("_", " ")
        try:
            check(session)
            print(f"passed: {name}")
        except (Failed, OSError, ValueError, AttributeError) as problem:
            problems.append(f"{name}: {problem}")
            session.origin.taken()
    if session.proxy.end() != 0:
        problems.append("the proxy didn't end with 0 after SIGTERM")
    return problems


# MARK: The cases of RFC 9111


def reason_to_skip(case: dict) -> str | None:
    """Returns why a case can't be run."""
    for step in case["steps"]:
        for word in step["request"]["words"]:
            if word in ("(reload)", "(staleIfOffline)"):
                return f"the lookup mode {word} isn't a part of HTTP"
            if "://" in word or word.startswith("//"):
                return "a reverse proxy has one origin"
        for message in step["responses"]:
            fields = {field["name"].lower(): field["value"] for field in message["fields"]}
            if "transfer-encoding" in fields:
                return "libcurl refuses a transfer coding that it doesn't know"
            if message["words"][0] == "cut" and fields.get("content-length") == str(len(message.get("body") or "")):
                return "a body with its announced length isn't cut off"
    return None


class Runner:
    def __init__(self, directory: pathlib.Path):
        self.clock = Clock(directory)
        self.origin = Origin(self.answer)
        self.proxy = Proxy(self.origin.url, directory / "cache", self.clock)
        self.script: list[dict] = []

    # The origin

    def answer(self, request: Message) -> bytes:
        """Returns the next response of the script. If there is none, the origin closes the connection, because the case is only about the
        request."""
        bytes_sent = b""
        while self.script:
            message = self.script.pop(0)
            words = list(message["words"])
            first = words.pop(0) if len(words) == 2 else ""
            if first.isdigit():
                self.clock.set(self.clock.now + int(first))
            if words[0] == "failure":
                break
            status = int(words[0])
            fields = self.fields(message["fields"])
            if status < 200:
                # The final response follows on the same connection.
                bytes_sent += response(status, fields, None)
                continue
            body = (message.get("body") if message.get("body") is not None else str(self.number)).encode()
            if request.method == "HEAD" or status in (204, 304):
                return bytes_sent + response(status, fields, None)
            if first == "cut" and not any(name.lower() == "content-length" for name, _ in fields):
                # Chunks without the last chunk.
                head = response(status, [*fields, ("Transfer-Encoding", "chunked")], None)
                return bytes_sent + head + b"%x\r\n%b\r\n" % (len(body), body)
            return bytes_sent + response(status, fields, body)
        return bytes_sent

    def fields(self, fields: list[dict]) -> list[tuple[str, str]]:
        return [(field["name"], self.text(field["value"])) for field in fields if field.get("value") is not None]

    def text(self, value: str) -> str:
        """Fills in dates, and replaces example.test with the origin."""
        value = re.sub(r"(?i)(http)://example\.test(:80)?(?=[/#?]|$)", rf"\g<1>{self.origin.url[4:]}", value)
        return re.sub(
            r"@(-?\d+)", lambda match: email.utils.formatdate(self.clock.now + int(match[1]), usegmt=True), value)

    # The client

    def run(self, case: dict) -> None:
        """Raises Failed if the proxy does anything other than what the case says."""
        self.clock.set(START)
        targets = set()
        try:
            for self.number, step in enumerate(case["steps"], 1):
                try:
                    targets.add(self.step(step, isLast=self.number == len(case["steps"])))
                except (Failed, OSError) as problem:
                    raise Failed(f"step {self.number}, {step['line']}: {problem}") from None
        finally:
            self.script = []
            # Empty the cache: it invalidates the target of an unsafe request.
            for target in targets:
                self.script = [{"words": ["204"], "fields": []}]
                self.proxy.ask("DELETE", target)
            self.origin.taken()

    def step(self, step: dict, isLast: bool) -> str:
        words = list(step["request"]["words"])
        if words[0][0] in "+-":
            self.clock.set(self.clock.now + int(words.pop(0)))
        method, *rest = [word for word in words if word not in ("(useCache)", "(cacheOnly)")]
        target = "/" + (rest[0] if rest else "").lstrip("/").split("#")[0]
        fields = self.fields(step["request"]["fields"])
        if "(cacheOnly)" in words:
            # The mode means the same as these directives.
            fields.append(("Cache-Control", "only-if-cached, max-stale"))
        sent = self.sent(fields, self.fields(step["decision"]["fields"]))
        unchanged = self.sent(fields, [])
        decision = step["decision"]["words"][0]
        self.script = list(step["responses"])
        answer = self.proxy.ask(method, target, fields)
        if decision == "revalidate":
            self.origin.wait(1)
            if not isLast:
                self.wait_for_validation(target, answer.get("Age"))
        requests = self.origin.taken()

        finals = [message for message in step["responses"] if not message["words"][-1].startswith("1")]
        count = 0 if decision in ("serve", "fail") else max(1, len(finals))
        if len(requests) != count:
            raise Failed(f"the origin got {len(requests)} requests instead of {count}, and the client {answer}")
        for index, got in enumerate(requests):
            self.compare_request(got, method, target, sent if index == 0 else unchanged)
        if step.get("answer"):
            self.compare_answer(answer, step["answer"])
        return target

    def sent(self, client: list[tuple[str, str]], decision: list[tuple[str, str]]) -> dict[str, str | None]:
        """Returns the fields that the origin must get. The decision's fields replace the client's."""
        expected: dict[str, str | None] = dict.fromkeys(CONDITIONS)
        replaced = {name.lower() for name, _ in decision}
        for name, value in [*(field for field in client if field[0].lower() not in replaced), *decision]:
            expected[name] = value if expected.get(name) is None else f"{expected[name]}, {value}"
        return expected

    def compare_request(self, request: Message, method: str, target: str, expected: dict[str, str | None]):
        if (request.method, request.target) != (method, target):
            raise Failed(f"the origin got {request.start}")
        for name, value in expected.items():
            if request.get(name) != value:
                raise Failed(f"the origin got {name}: {request.get(name)} instead of {value}")

    def compare_answer(self, answer: Message, expected: dict):
        # 0 means that there is no response. The proxy reports that to the client.
        status = int(expected["words"][0]) or 502
        if answer.status != status:
            raise Failed(f"the client got {answer} instead of {status}")
        if expected.get("body") is not None and answer.body != expected["body"].encode():
            raise Failed(f"the client got the body {answer.body!r}")
        for field in expected["fields"]:
            value = field.get("value")
            if answer.get(field["name"]) != (None if value is None else self.text(value)):
                raise Failed(f"the client got {field['name']}: {answer.get(field['name'])}")

    def wait_for_validation(self, target: str, age: str | None):
        """Waits until a background validation has changed the age, which is its only visible effect. Requests with only-if-cached change
        nothing."""
        for _ in range(PATIENCE * 1000):
            answer = self.proxy.ask("GET", target, [("Cache-Control", "only-if-cached")])
            if answer.get("Age") != age:
                return
        raise Failed("the validation in the background has no effect")


def read_cases(directory: pathlib.Path) -> list[dict]:
    file = directory / "cases.json"
    tests = [program("sluicePackageTests.xctest"), "--testing-library", "swift-testing", "--filter", "other programs can read"]
    result = subprocess.run(
        tests, env=os.environ | {"SLUICE_POLICY_CASES": str(file)}, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if result.returncode or not file.exists():
        sys.exit(f"The tests can't write the cases:\n{result.stdout}{result.stderr}")
    return json.loads(file.read_text())


def check_cases(directory: pathlib.Path, only: str) -> list[str]:
    """Returns the problems."""
    skipped: collections.Counter[str] = collections.Counter()
    passed, problems = 0, []
    runner = Runner(directory)
    for case in read_cases(directory):
        name = f"{case['section']} {case['claim']}"
        if only not in name:
            continue
        if reason := reason_to_skip(case):
            skipped[reason] += 1
            continue
        try:
            runner.run(case)
            passed += 1
        except Failed as problem:
            problems.append(f"{name}\n    {problem}")
    if runner.proxy.end() != 0:
        problems.append("the proxy didn't end with 0 after SIGTERM")
    for reason, count in skipped.most_common():
        print(f"{count:4} cases not run: {reason}")
    print(f"{passed:4} cases passed")
    if not only and passed < 500:
        problems.append("Fewer than 500 cases passed.")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="run only the cases of RFC 9111 whose section and claim contain this text")
    only = parser.parse_args().only
    with tempfile.TemporaryDirectory(prefix="sluice-proxy-") as directory:
        problems = [] if only else check_forwarding(pathlib.Path(directory))
        problems += check_cases(pathlib.Path(directory), only)
    if problems:
        sys.exit("\n".join(f"FAILED: {problem}" for problem in problems))


main()
