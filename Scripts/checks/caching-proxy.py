#!/usr/bin/env python3
"""Checks what Examples/CachingProxy forwards, and how it starts and ends.

    swift build --package-path Examples/CachingProxy --scratch-path .build
    Scripts/checks/caching-proxy.py

An origin on loopback records the bytes that it gets. Scripts/checks/caching-proxy-cases.py checks what the proxy stores.
"""
import argparse, email.utils, pathlib, signal, socket, subprocess, sys, tempfile, threading, time

from builds import program
from proxied import PATIENCE, Message, Origin, Proxy, Reader, request, response

LIMIT = 64 << 20
FRESH = ("Cache-Control", "max-age=3600")


class Failed(Exception):
    pass


def expect(actual, expected, what: str):
    if actual != expected:
        raise Failed(f"{what} is {actual!r} instead of {expected!r}")


class Session:
    """A proxy and an origin whose next response a check sets."""

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
    # A chunked body has its length at the origin. A line end in it doesn't end a request.
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
    # A URL has no such characters. They are percent-encoded.
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
    # Neither of the two changes what the request means.
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
    """Several requests over one connection, in one write and byte by byte, with all kinds of framing."""
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
            # A client of HTTP/1.0 waits for the end of the connection.
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
    # Without an announced length, the proxy notices it later.
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
            # The end of the idle connection tells that the proxy is ending.
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


def main():
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    checks = [
        forwards_methods_and_bodies, forwards_targets, forwards_fields, removes_connection_fields, returns_redirects_and_cookies,
        adds_a_date, drops_interim_responses, announces_lengths, keeps_connections_in_step, continues_and_limits_bodies, reports_failures, ends_gracefully,
        explains_its_options,
    ]
    failed = 0
    with tempfile.TemporaryDirectory(prefix="sluice-proxy-") as temporary:
        session = Session(pathlib.Path(temporary) / "cache")
        for check in checks:
            try:
                check(session)
                print(f"passed: {check.__name__.replace('_', ' ')}")
            except (Failed, OSError, ValueError, AttributeError) as problem:
                failed += 1
                print(f"FAILED: {check.__name__.replace('_', ' ')}: {problem}")
                session.origin.taken()
        expect(session.proxy.end(), 0, "the exit code")
    sys.exit(failed > 0)


main()
