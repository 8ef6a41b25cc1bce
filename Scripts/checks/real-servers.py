#!/usr/bin/env python3
"""Proves that `sluice get` works with real servers: it logs in, keeps cookies, decodes, continues what was interrupted, never mixes two
versions of a file, and downloads segments and many small files.

    swift build --product sluice
    Scripts/checks/real-servers.py

- nginx, Apache, lighttpd, Caddy (with its own certificate authority) and `rclone serve http`, over HTTP/1.1 and, except for rclone, HTTP/2:
  `file_servers.py` has their configurations and rows.
- httpbin, from PyPI: Digest, Basic and bearer authentication, cookies, redirects and codings.
- An HTTP/2 server that misbehaves: `hostile_http2.py`, with h2 from PyPI. Both packages are fetched once, into .build-python.

All listen on 127.0.0.1, on ports that the system chooses, and end with the script. If a server can't be installed or isn't there, its rows
are skipped with a message, unless SLUICE_REQUIRE_SERVERS is set, as in CI. Exits with 1 if a row has another status, message, file or
number of requested ranges, or a secret in its output.
"""
import base64, concurrent.futures, contextlib, gzip, json, os, pathlib, re, shutil, subprocess, sys, tempfile

import file_servers, servers
from builds import ROOT, program
from file_servers import AUTHENTICATION, HTTP, NETWORK, OK, SECRET, TEXT, USER

HTTPBIN, HTTP2 = "httpbin==0.10.2", "h2==4.2.0"
SERVER = "import sys; sys.path.insert(0, sys.argv[1]); from httpbin import app; from werkzeug.serving import make_server; " \
         "server = make_server('127.0.0.1', 0, app, threaded=True); print(server.server_port, flush=True); server.serve_forever()"



def packages(requirement: str) -> pathlib.Path:
    return ROOT / f".build-python/{requirement.replace('==', '-')}"


def fetch(requirement: str) -> bool:
    if packages(requirement).exists():
        return True
    unfinished = packages(requirement).with_suffix(".new")
    shutil.rmtree(unfinished, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--root-user-action=ignore",
           "--target", str(unfinished), requirement]
    if subprocess.run(pip).returncode != 0:
        return False
    unfinished.rename(packages(requirement))
    return True


@contextlib.contextmanager
def port_of(name: str, command: list[str], environment: dict[str, str] = {}):
    """Runs a server that prints its port."""
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=os.environ | environment)
    try:
        port = server.stdout.readline().strip()
        if not port:
            sys.exit(f"{name} did not start; it ended with {server.wait()}")
        yield port
    finally:
        server.kill()
        server.wait()


@contextlib.contextmanager
def httpbin():
    with port_of("httpbin", [sys.executable, "-c", SERVER, str(packages(HTTPBIN))]) as port:
        yield f"http://127.0.0.1:{port}"


@contextlib.contextmanager
def hostile_http2(work: pathlib.Path):
    certificate, key = servers.certificate(work)
    script = pathlib.Path(__file__).with_name("hostile_http2.py")
    with port_of("the HTTP/2 origin", [sys.executable, str(script), str(certificate), str(key)],
                 {"PYTHONPATH": str(packages(HTTP2))}) as port:
        yield f"https://127.0.0.1:{port}", certificate


class Rows:
    def __init__(self, work: pathlib.Path):
        self.work, self.sluice, self.failures, self.count = work, program("sluice"), 0, 0
        (work / "password").write_text(f"ann:{SECRET}\n")
        (work / "token").write_text(f"{SECRET}\n")

    def run(self, name: str, url: str, options: list[str], status: int = OK, expect=lambda data: True, shows: str = "", hides: str = "",
            partial: range | None = None, ranges: int | range | None = None, keep: bool = False) -> None:
        """Downloads a URL, and compares the status, the file (`expect` is its bytes or a predicate), a part of the output and of the trace,
        how many bytes a failure leaves for the next attempt, and how many requests were for a range.

        The output may not contain the secret. With `keep`, it continues with the files that the previous row left.
        """
        target = self.work / "out"
        if not keep:
            shutil.rmtree(target, ignore_errors=True)
        ended, shown = self.sluice_get(["--trace", "-", "-d", target, "-o", "file", *options, url])
        file = target / "file"
        # httpbin takes some secrets in the path, which is shown.
        secrets = [base64.b64encode(f"{USER}:{SECRET}".encode()).decode(), *([] if SECRET in url else [SECRET])]
        requested = len(re.findall(r"> range: bytes=", shown, re.I))
        expected = (lambda data: data == expect) if isinstance(expect, bytes) else expect
        problem = None
        if ended != status:
            problem = f"ended with {ended} instead of {status}: {shown}"
        elif any(secret in shown for secret in secrets):
            problem = "shows the secret"
        elif status == OK and not (file.exists() and expected(file.read_bytes())):
            problem = f"stored something else: {file.read_bytes()[:300] if file.exists() else 'nothing'}"
        elif status == OK and (others := [path.name for path in target.iterdir() if path != file]):
            problem = f"left {others}"
        elif status != OK and file.exists():
            problem = "stored a file although it failed"
        elif shows.lower() not in shown.lower() or (hides and hides.lower() in shown.lower()):
            problem = f"doesn't show {shows!r}, or shows {hides!r}: {shown}"
        elif ranges is not None and requested not in (range(ranges, ranges + 1) if isinstance(ranges, int) else ranges):
            problem = f"requested {requested} ranges: {shown}"
        elif partial and (size := sum(path.stat().st_size for path in target.rglob("*.part"))) not in partial:
            problem = f"kept {size} bytes: {[path.name for path in target.rglob('*')]}"
        self.done(name, problem)

    def run_list(self, name: str, urls: list[str], options: list[str], expected: dict[str, bytes]) -> None:
        """Downloads a list, twice, and compares all files and their names. The second time does nothing."""
        target, listing = self.work / "out", self.work / "list"
        shutil.rmtree(target, ignore_errors=True)
        listing.write_text("".join(f"{url}\n" for url in urls))
        problem = None
        for run, summary in enumerate([{"done": len(urls), "skipped": 0}, {"done": 0, "skipped": len(urls)}]):
            ended, shown = self.sluice_get([*options, "-d", target, "-i", listing])
            if problem := problem or (f"run {run + 1} ended with {ended}: {shown}" if ended != OK else None):
                break
            if not has(**summary)(shown.splitlines()[-1]):
                problem = f"run {run + 1}: {shown.splitlines()[-1]}"
        if not problem and {path.name: path.read_bytes() for path in target.iterdir()} != expected:
            problem = f"stored other files, or some of them wrong: {sorted(path.name for path in target.iterdir())}"
        self.done(name, problem)

    def sluice_get(self, arguments: list) -> tuple[int, str]:
        # The user's settings must not matter.
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.work)}
        result = subprocess.run([self.sluice, "get", "--retries", "0", "--progress", "json", *arguments],
                                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, env=environment)
        return result.returncode, result.stderr + result.stdout

    def done(self, name: str, problem: str | None) -> None:
        self.count += 1
        if problem:
            self.failures += 1
            print(f"{name}: {problem}", file=sys.stderr)


def has(**expected):
    return lambda data: expected.items() <= json.loads(data).items()


def rows_of_httpbin(rows: Rows, url: str) -> None:
    auth = ["--auth", f"@{rows.work}/password"]
    inside = has(authenticated=True, user="ann")
    for method in ["basic-auth", "hidden-basic-auth", "digest-auth/auth", "digest-auth/auth-int"]:
        path = f"{url}/{method}/ann/{SECRET}"
        hidden = method == "hidden-basic-auth"
        # The route that hides itself answers 404 instead of asking, so no password is sent.
        rows.run(method, path, auth, HTTP if hidden else OK, inside)
        rows.run(f"{method} without a password", path, [], HTTP if hidden else AUTHENTICATION)
    for algorithm in ["MD5", "SHA-256"]:
        rows.run(f"Digest with {algorithm}", f"{url}/digest-auth/auth/ann/{SECRET}/{algorithm}", auth, OK, inside)
    rows.run("Digest with a nonce for one request", f"{url}/digest-auth/auth/ann/{SECRET}/MD5/1", auth, OK, inside)
    rows.run("a wrong password", f"{url}/digest-auth/auth/ann/other", auth, AUTHENTICATION)
    rows.run("a bearer token", f"{url}/bearer", ["--bearer-file", f"{rows.work}/token"], OK, has(authenticated=True, token=SECRET))
    rows.run("no bearer token", f"{url}/bearer", [], AUTHENTICATION)
    netrc = rows.work / "netrc"
    netrc.write_text(f"machine 127.0.0.1 login ann password {SECRET}\n")
    rows.run("a netrc file", f"{url}/digest-auth/auth/ann/{SECRET}", ["--netrc-file", f"{netrc}"], OK, inside)

    jar = ["--cookie-jar", f"{rows.work}/cookies"]
    rows.run("a cookie", f"{url}/cookies", ["--cookie", f"sid={SECRET}"], OK, has(cookies={"sid": SECRET}))
    rows.run("a cookie that a redirect sets", f"{url}/cookies/set/sid/{SECRET}", jar, OK, has(cookies={"sid": SECRET}))
    rows.run("the cookie of an earlier command", f"{url}/cookies", jar, OK, has(cookies={"sid": SECRET}))
    rows.run("a cookie that the server deletes", f"{url}/cookies/delete?sid=", jar, OK, has(cookies={}))
    rows.run("no cookie is left", f"{url}/cookies", jar, OK, has(cookies={}))

    for path in ["redirect/5", "relative-redirect/5", "absolute-redirect/5"]:
        rows.run(path, f"{url}/{path}", [], OK, lambda data: json.loads(data)["url"].endswith("/get"))
    rows.run("too many redirects", f"{url}/redirect/30", [], 4)
    for coding, key in [("gzip", "gzipped"), ("brotli", "brotli")]:
        rows.run(coding, f"{url}/{coding}", ["--compressed"], OK, has(**{key: True}))
    rows.run("an encoded file without --compressed", f"{url}/gzip", [], OK, lambda data: b"gzipped" in gzip.decompress(data))


def rows_of_file_server(work: pathlib.Path, server) -> Rows:
    root = file_servers.make_files(work)
    rows = Rows(work)
    with server(work, root) as found:
        for each in found:
            file_servers.rows_of(rows, each, root)
        if server is file_servers.nginx:
            rows_of_nginx(rows, found[0].url(found[0].port))
    return rows


def rows_of_nginx(rows: Rows, url: str) -> None:
    """What isn't in the rows of all file servers."""
    closed = [f"{url}/closed/text.txt", ["--auth", f"@{rows.work}/password", "--compressed"]]
    rows.run("nginx: a password and gzip", *closed, expect=TEXT)
    rows.run("gzip within the size", f"{url}/text.txt", ["--compressed", "--max-size", str(len(TEXT))], expect=TEXT)
    rows.run("gzip beyond the size", f"{url}/text.txt", ["--compressed", "--max-size", str(len(TEXT) - 1)], 1)


def rows_of_http2(rows: Rows, url: str, certificate: pathlib.Path) -> None:
    content = b"".join(b"%07d\n" % number for number in range(50_000))
    half, whole = len(content) // 2, lambda data: data == content
    options = ["--http2", "--ca-file", str(certificate)]
    rows.run("HTTP/2", f"{url}/whole", options, OK, whole)
    rows.run("a GOAWAY that lets the stream finish", f"{url}/goaway", options, OK, whole)
    for path, shown, kept in [
        ("reset", "INTERNAL_ERROR", range(half, half + 1)),
        ("short", "before the response was complete", range(half, half + 1)),
        # Bytes may be lost with the connection.
        ("goaway-lost", "before the response was complete", range(half + 1)),
        ("goaway-open", "before the response was complete", range(half + 1)),
        ("long", "PROTOCOL_ERROR", range(half, len(content))),
        ("stall", "pass --timeout", range(half, half + 1)),
        ("misdirected", "421 Misdirected Request", range(1)),
    ]:
        status = HTTP if path == "misdirected" else NETWORK
        rows.run(f"HTTP/2: {path}", f"{url}/{path}", [*options, "--timeout", "2"], status, shows=shown, partial=kept)
    for path in ["reset", "short"]:
        rows.run(f"HTTP/2: {path}, continued", f"{url}/{path}", [*options, "--retries", "1"], OK, whole,
                 shows=f"content-range: bytes {half}-")
    for path in ["goaway-lost", "goaway-open"]:
        rows.run(f"HTTP/2: {path}, continued", f"{url}/{path}", [*options, "--retries", "1"], OK, whole)


def main() -> int:
    required = "SLUICE_REQUIRE_SERVERS" in os.environ
    with tempfile.TemporaryDirectory(prefix="sluice-servers-") as temporary:
        # For servers that drop root privileges.
        os.chmod(temporary, 0o755)
        rows = Rows(pathlib.Path(temporary))
        skipped = []
        if fetch(HTTPBIN):
            with httpbin() as url:
                rows_of_httpbin(rows, url)
        else:
            skipped.append("httpbin, which pip couldn't install")
        for server in file_servers.ALL:
            if missing := file_servers.missing(server):
                skipped.append(f"{server.__name__}, without {', '.join(missing)}: run Scripts/install-system-packages.sh")
        there = [server for server in file_servers.ALL if not file_servers.missing(server)]
        # One waits while another computes.
        with concurrent.futures.ThreadPoolExecutor(3) as threads:
            for done in threads.map(lambda server: rows_of_file_server(rows.work / server.__name__, server), there):
                rows.count, rows.failures = rows.count + done.count, rows.failures + done.failures
        if not shutil.which("openssl"):
            skipped.append("HTTP/2, which needs openssl")
        elif fetch(HTTP2):
            with hostile_http2(rows.work) as (url, certificate):
                rows_of_http2(rows, url, certificate)
        else:
            skipped.append("HTTP/2: pip couldn't install h2")
    for server in skipped:
        print(f"skipped: {server}", file=sys.stderr)
    print(f"{rows.count - rows.failures} of {rows.count} rows are right")
    return 1 if rows.failures or (skipped and required) else 0


if __name__ == "__main__":
    sys.exit(main())
