#!/usr/bin/env python3
"""Proves that `sluice get` logs in to real servers, keeps their cookies and decodes their files: httpbin from PyPI, and nginx. Proves what it
does when an HTTP/2 server misbehaves: `hostile_http2.py`, with h2 from PyPI.

    swift build --product sluice
    Scripts/checks/real-servers.py

httpbin has the routes for Digest, Basic and bearer authentication, cookies, redirects and codings. Both packages are fetched once, into .build-python.
nginx has a directory with Basic authentication, and compresses texts. All listen on 127.0.0.1, on ports that the system chooses, and end
with the script. If a server can't be installed or isn't there, its rows are skipped with a message, unless SLUICE_REQUIRE_SERVERS is set,
as in CI. Exits with 1 if a row has another status, message or file, or a secret in its output.
"""
import base64, contextlib, gzip, json, os, pathlib, shutil, signal, socket, subprocess, sys, tempfile, time

import servers
from builds import ROOT, program

HTTPBIN, HTTP2 = "httpbin==0.10.2", "h2==4.2.0"
SERVER = "import sys; sys.path.insert(0, sys.argv[1]); from httpbin import app; from werkzeug.serving import make_server; " \
         "server = make_server('127.0.0.1', 0, app, threaded=True); print(server.server_port, flush=True); server.serve_forever()"
SECRET = "s3cret-Word"
TEXT = b"a line of text\n" * 100_000

OK, NETWORK, AUTHENTICATION, HTTP = 0, 4, 6, 8


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
    certificate, key = work / "certificate.pem", work / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-keyout", key,
         "-out", certificate, "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, stderr=subprocess.DEVNULL)
    script = pathlib.Path(__file__).with_name("hostile_http2.py")
    with port_of("the HTTP/2 origin", [sys.executable, str(script), str(certificate), str(key)],
                 {"PYTHONPATH": str(packages(HTTP2))}) as port:
        yield f"https://127.0.0.1:{port}", certificate


@contextlib.contextmanager
def nginx(work: pathlib.Path):
    root = work / "root"
    (root / "closed").mkdir(parents=True)
    (root / "text.txt").write_bytes(TEXT)
    (root / "closed/text.txt").write_bytes(TEXT)
    (work / "users").write_text(f"ann:{{PLAIN}}{SECRET}\n")
    for path in [work, root, root / "closed"]:
        # If the script runs as root, nginx's workers drop root privileges.
        path.chmod(0o755)
    port = servers.free_port()
    with servers.nginx(work, port, f"""
        server {{
            listen 127.0.0.1:{port}; root {root}; gzip on; gzip_types *; gzip_min_length 100;
            location /closed/ {{ auth_basic "files"; auth_basic_user_file {work}/users; }}
        }}"""):
        yield f"http://127.0.0.1:{port}"


class Rows:
    def __init__(self, work: pathlib.Path):
        self.work, self.sluice, self.failures, self.count = work, program("sluice"), 0, 0
        (work / "password").write_text(f"ann:{SECRET}\n")
        (work / "token").write_text(f"{SECRET}\n")

    def run(self, name: str, url: str, options: list[str], status: int = OK, expect=lambda data: True, shows: str = "",
            partial: range | None = None) -> None:
        """Downloads a URL and compares the status, the file, a part of the output, and how many bytes a failure leaves for the next attempt.

        The output may not contain the secret.
        """
        self.count += 1
        target = self.work / "out"
        shutil.rmtree(target, ignore_errors=True)
        # The user's settings must not matter.
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.work)}
        result = subprocess.run(
            [self.sluice, "get", "--retries", "0", "--progress", "json", "--trace", "-", "-d", target, "-o", "file", *options, url],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, env=environment)
        shown = result.stdout + result.stderr
        file = target / "file"
        # httpbin takes some secrets in the path, which is shown.
        secrets = [base64.b64encode(f"ann:{SECRET}".encode()).decode(), *([] if SECRET in url else [SECRET])]
        problem = None
        if result.returncode != status:
            problem = f"ended with {result.returncode} instead of {status}: {shown}"
        elif any(secret in shown for secret in secrets):
            problem = "shows the secret"
        elif status == OK and not (file.exists() and expect(file.read_bytes())):
            problem = f"stored something else: {file.read_bytes()[:300] if file.exists() else 'nothing'}"
        elif status != OK and file.exists():
            problem = "stored a file although it failed"
        elif shows not in shown:
            problem = f"doesn't show {shows!r}: {shown}"
        elif partial and (size := sum(path.stat().st_size for path in target.rglob("*.part"))) not in partial:
            problem = f"kept {size} bytes: {[path.name for path in target.rglob('*')]}"
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


def rows_of_nginx(rows: Rows, url: str) -> None:
    whole = lambda data: data == TEXT
    auth = ["--auth", f"@{rows.work}/password"]
    rows.run("Basic authentication", f"{url}/closed/text.txt", auth, OK, whole)
    rows.run("Basic authentication and gzip", f"{url}/closed/text.txt", [*auth, "--compressed"], OK, whole)
    rows.run("no password", f"{url}/closed/text.txt", [], AUTHENTICATION)
    rows.run("gzip", f"{url}/text.txt", ["--compressed"], OK, whole)
    rows.run("gzip within the size", f"{url}/text.txt", ["--compressed", "--max-size", str(len(TEXT))], OK, whole)
    rows.run("gzip beyond the size", f"{url}/text.txt", ["--compressed", "--max-size", str(len(TEXT) - 1)], 1)
    rows.run("no gzip", f"{url}/text.txt", [], OK, whole)


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
        ("long", "PROTOCOL_ERROR", range(half, len(content))),
        ("stall", "pass --timeout", range(half, half + 1)),
        ("misdirected", "421 Misdirected Request", range(1)),
    ]:
        status = HTTP if path == "misdirected" else NETWORK
        rows.run(f"HTTP/2: {path}", f"{url}/{path}", [*options, "--timeout", "2"], status, shows=shown, partial=kept)
    for path in ["reset", "short"]:
        rows.run(f"HTTP/2: {path}, continued", f"{url}/{path}", [*options, "--retries", "1"], OK, whole,
                 shows=f"content-range: bytes {half}-")
    rows.run("HTTP/2: goaway-lost, continued", f"{url}/goaway-lost", [*options, "--retries", "1"], OK, whole)


def main() -> int:
    required = "SLUICE_REQUIRE_SERVERS" in os.environ
    with tempfile.TemporaryDirectory(prefix="sluice-servers-") as temporary:
        # For the workers of nginx.
        os.chmod(temporary, 0o755)
        rows = Rows(pathlib.Path(temporary))
        skipped = []
        if fetch(HTTPBIN):
            with httpbin() as url:
                rows_of_httpbin(rows, url)
        else:
            skipped.append("httpbin, which pip couldn't install")
        if shutil.which("nginx"):
            with nginx(pathlib.Path(temporary) / "nginx") as url:
                rows_of_nginx(rows, url)
        else:
            skipped.append("nginx: run Scripts/install-system-packages.sh")
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
