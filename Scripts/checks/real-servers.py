#!/usr/bin/env python3
"""Proves that `sluice get` logs in to real servers, keeps their cookies and decodes their files: httpbin from PyPI, and nginx.

    swift build --product sluice
    Scripts/checks/real-servers.py

httpbin has the routes for Digest, Basic and bearer authentication, cookies, redirects and codings. It is fetched once, into .build-python.
nginx has a directory with Basic authentication, and compresses texts. Both listen on 127.0.0.1, on ports that the system chooses, and end
with the script. If a server can't be installed or isn't there, its rows are skipped with a message, unless SLUICE_REQUIRE_SERVERS is set,
as in CI. Exits with 1 if a row has another status, another file or a secret in its output.
"""
import base64, contextlib, gzip, json, os, pathlib, shutil, signal, socket, subprocess, sys, tempfile, time

from builds import ROOT, program

HTTPBIN = "0.10.2"
PACKAGES = ROOT / f".build-python/httpbin-{HTTPBIN}"
SERVER = "import sys; sys.path.insert(0, sys.argv[1]); from httpbin import app; from werkzeug.serving import make_server; " \
         "server = make_server('127.0.0.1', 0, app, threaded=True); print(server.server_port, flush=True); server.serve_forever()"
SECRET = "s3cret-Word"
TEXT = b"a line of text\n" * 100_000

OK, AUTHENTICATION, HTTP = 0, 6, 8


def fetch_httpbin() -> bool:
    if PACKAGES.exists():
        return True
    unfinished = PACKAGES.with_suffix(".new")
    shutil.rmtree(unfinished, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--root-user-action=ignore",
           "--target", str(unfinished), f"httpbin=={HTTPBIN}"]
    if subprocess.run(pip).returncode != 0:
        return False
    unfinished.rename(PACKAGES)
    return True


@contextlib.contextmanager
def httpbin():
    server = subprocess.Popen([sys.executable, "-c", SERVER, str(PACKAGES)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        port = server.stdout.readline().strip()
        if not port:
            sys.exit(f"httpbin did not start; it ended with {server.wait()}")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


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
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    temporary = "".join(f"{name}_temp_path {work}/{name};" for name in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"])
    (work / "nginx.conf").write_text(f"""
        daemon off; master_process off; pid {work}/nginx.pid; error_log {work}/error.log;
        events {{ worker_connections 64; }}
        http {{
            access_log off; {temporary} gzip on; gzip_types *; gzip_min_length 100;
            server {{
                listen 127.0.0.1:{port}; root {root};
                location /closed/ {{ auth_basic "files"; auth_basic_user_file {work}/users; }}
            }}
        }}""")
    server = subprocess.Popen(["nginx", "-e", f"{work}/error.log", "-p", str(work), "-c", str(work / "nginx.conf")])
    try:
        for _ in range(200):
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            if server.poll() is not None:
                sys.exit(f"nginx did not start: {(work / 'error.log').read_text()}")
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(timeout=10)


class Rows:
    def __init__(self, work: pathlib.Path):
        self.work, self.sluice, self.failures, self.count = work, program("sluice"), 0, 0
        (work / "password").write_text(f"ann:{SECRET}\n")
        (work / "token").write_text(f"{SECRET}\n")

    def run(self, name: str, url: str, options: list[str], status: int = OK, expect=lambda data: True) -> None:
        """Downloads a URL and compares the status and the file. The output may not contain the secret."""
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


def main() -> int:
    required = "SLUICE_REQUIRE_SERVERS" in os.environ
    with tempfile.TemporaryDirectory(prefix="sluice-servers-") as temporary:
        # For the workers of nginx.
        os.chmod(temporary, 0o755)
        rows = Rows(pathlib.Path(temporary))
        skipped = []
        if fetch_httpbin():
            with httpbin() as url:
                rows_of_httpbin(rows, url)
        else:
            skipped.append("httpbin, which pip couldn't install")
        if shutil.which("nginx"):
            with nginx(pathlib.Path(temporary) / "nginx") as url:
                rows_of_nginx(rows, url)
        else:
            skipped.append("nginx: run Scripts/install-system-packages.sh")
    for server in skipped:
        print(f"skipped: {server}", file=sys.stderr)
    print(f"{rows.count - rows.failures} of {rows.count} rows are right")
    return 1 if rows.failures or (skipped and required) else 0


if __name__ == "__main__":
    sys.exit(main())
