"""File servers from Debian, and the rows that `real-servers.py` runs with each of them. All servers have the same directory.

What differs between servers is in `FileServer`. Each server gets two ports: one with plain HTTP or HTTPS, and one in front of it, a relay
that cuts connections.
"""
import base64, contextlib, dataclasses, hashlib, os, pathlib, random, shutil, ssl, socket, sys, time, urllib.parse

import servers

USER, SECRET = "ann", "s3cret-Word"
# Of the secret. Caddy verifies only bcrypt and scrypt, and Python has neither. The cost is low, so that rows don't take a second each.
BCRYPT = "$2b$04$abcdefghijklmnopqrstuu9OV7xB1irftC1KtXn5w9cEWE3ZcJrey"
OLD = 1_700_000_000
SIZE, CUT = 6_000_000, 2_500_000
TEXT = b"a line of text\n" * 100_000
SMALL = 200

OK, NETWORK, TLS, AUTHENTICATION, HTTP = 0, 4, 5, 6, 8


@dataclasses.dataclass
class FileServer:
    name: str
    # A port with the files. `closed/` needs the password.
    port: int
    # A port where all files need the password, if the server can't close a directory.
    closed_port: int | None = None
    # Trusted for https.
    certificate: pathlib.Path | None = None
    http2: bool = False
    # Whether the server has a strong validator for a file that changed in this second.
    strong_at_once: bool = True
    # Whether the server compresses texts on request.
    compresses: bool = True
    # Whether `digest/` needs the password by Digest authentication.
    digest: bool = False

    @property
    def options(self) -> list[str]:
        return [*(["--ca-file", str(self.certificate)] if self.certificate else []), *(["--http2"] if self.http2 else [])]

    def url(self, port: int) -> str:
        return f"{'https' if self.certificate else 'http'}://127.0.0.1:{port}"


def content(seed: int, size: int = SIZE) -> bytes:
    return random.Random(seed).randbytes(size)


def write(path: pathlib.Path, data: bytes, modified: float = OLD) -> None:
    path.write_bytes(data)
    path.chmod(0o644)
    os.utime(path, (modified, modified))


def make_files(work: pathlib.Path) -> pathlib.Path:
    root = work / "root"
    for name in ["closed", "digest", "small"]:
        (root / name).mkdir(parents=True)
        write(root / name / "text.txt", TEXT)
    write(root / "text.txt", TEXT)
    write(root / "empty.bin", b"")
    for number in range(SMALL):
        write(root / "small" / small_name(number), content(number, 2000))
    # Servers that root starts drop root privileges.
    for path in [work, root, *(path for path in root.iterdir() if path.is_dir())]:
        path.chmod(0o755)
    digest = base64.b64encode(hashlib.sha1(SECRET.encode()).digest()).decode()
    (work / "users").write_text(f"{USER}:{{SHA}}{digest}\n")
    (work / "digest-users").write_text(f"{USER}:files:{hashlib.md5(f'{USER}:files:{SECRET}'.encode()).hexdigest()}\n")
    return root


def small_name(number: int) -> str:
    return f"{number} ü%+&.bin"


# MARK: Servers

@contextlib.contextmanager
def nginx(work: pathlib.Path, root: pathlib.Path):
    plain, secure = servers.free_port(), servers.free_port()
    certificate, key = servers.certificate(work)
    with servers.nginx(work, plain, f"""
        server {{
            listen 127.0.0.1:{plain}; listen 127.0.0.1:{secure} ssl http2; root {root};
            ssl_certificate {certificate}; ssl_certificate_key {key}; gzip on; gzip_types *; gzip_min_length 1000;
            location /closed/ {{ auth_basic "files"; auth_basic_user_file {work}/users; }}
        }}""", "types { text/plain txt; application/octet-stream bin; }"):
        yield [FileServer("nginx", plain), FileServer("nginx with HTTP/2", secure, certificate=certificate, http2=True)]


@contextlib.contextmanager
def apache(work: pathlib.Path, root: pathlib.Path):
    program, modules = ("apache2", "/usr/lib/apache2/modules") if shutil.which("apache2") else ("httpd", "/etc/httpd/modules")
    plain, secure = servers.free_port(), servers.free_port()
    certificate, key = servers.certificate(work)
    # A module may be part of the program.
    load = "".join(f"<IfModule !{name}_module>\nLoadModule {name}_module {modules}/mod_{name}.so\n</IfModule>\n" for name in [
        "mpm_event", "unixd", "authn_core", "authn_file", "authz_core", "authz_user", "auth_basic", "auth_digest", "mime", "filter",
        "deflate", "ssl", "http2"])
    closed = "AuthName files\nRequire valid-user"
    (work / "apache.conf").write_text(f"""{load}
        ServerRoot {work}
        ServerName 127.0.0.1
        PidFile {work}/apache.pid
        ErrorLog {work}/error.log
        Mutex file:{work} default
        # Nobody, if root starts it. Ignored otherwise.
        User #65534
        Group #65534
        StartServers 1
        ThreadsPerChild 16
        MaxRequestWorkers 32
        TypesConfig /dev/null
        AddType text/plain .txt
        AddOutputFilterByType DEFLATE text/plain
        Listen 127.0.0.1:{plain}
        Listen 127.0.0.1:{secure}
        DocumentRoot {root}
        <Directory {root}/closed>
            AuthType Basic
            AuthUserFile {work}/users
            {closed}
        </Directory>
        <Directory {root}/digest>
            AuthType Digest
            AuthUserFile {work}/digest-users
            {closed}
        </Directory>
        <VirtualHost 127.0.0.1:{secure}>
            SSLEngine on
            SSLCertificateFile {certificate}
            SSLCertificateKeyFile {key}
            Protocols h2
        </VirtualHost>
        """)
    # Apache's tag of a file that changed in this second is weak, until the second is over.
    common = dict(strong_at_once=False, digest=True)
    with servers.program_server([program, "-f", work / "apache.conf", "-DFOREGROUND"], plain, work / "error.log"):
        yield [FileServer("Apache", plain, **common),
               FileServer("Apache with HTTP/2", secure, certificate=certificate, http2=True, **common)]


@contextlib.contextmanager
def lighttpd(work: pathlib.Path, root: pathlib.Path):
    plain, secure = servers.free_port(), servers.free_port()
    certificate, key = servers.certificate(work)
    # Without a type, lighttpd sends neither a tag nor a date, and nothing could be continued; Debian's configuration has one for all files.
    # Its cache knows for a second a file's old size, date and tag, and it would send new bytes with them.
    (work / "lighttpd.conf").write_text(f"""
        server.modules = ("mod_auth", "mod_authn_file", "mod_deflate", "mod_openssl")
        server.document-root = "{root}"
        server.bind = "127.0.0.1"
        server.port = {plain}
        server.errorlog = "{work}/error.log"
        server.stat-cache-engine = "disable"
        mimetype.assign = (".txt" => "text/plain", "" => "application/octet-stream")
        deflate.mimetypes = ("text/plain")
        deflate.allowed-encodings = ("gzip")
        auth.backend = "htpasswd"
        auth.backend.htpasswd.userfile = "{work}/users"
        auth.require = ("/closed/" => ("method" => "basic", "realm" => "files", "require" => "valid-user"))
        $HTTP["url"] =~ "^/digest/" {{
            auth.backend = "htdigest"
            auth.backend.htdigest.userfile = "{work}/digest-users"
            auth.require = ("/digest/" => ("method" => "digest", "realm" => "files", "require" => "valid-user"))
        }}
        $SERVER["socket"] == "127.0.0.1:{secure}" {{
            ssl.engine = "enable"
            ssl.pemfile = "{certificate}"
            ssl.privkey = "{key}"
        }}
        """)
    with servers.program_server(["lighttpd", "-D", "-f", work / "lighttpd.conf"], plain, work / "error.log"):
        yield [FileServer("lighttpd", plain, digest=True),
               FileServer("lighttpd with HTTP/2", secure, certificate=certificate, http2=True, digest=True)]


@contextlib.contextmanager
def caddy(work: pathlib.Path, root: pathlib.Path):
    plain, secure = servers.free_port(), servers.free_port()
    site = f"""
        bind 127.0.0.1
        root * {root}
        basicauth /closed/* bcrypt files {{
            {USER} {base64.b64encode(BCRYPT.encode()).decode()}
        }}
        encode zstd gzip
        file_server
        """
    # Caddy has a certificate authority of its own. It would make the system trust it.
    (work / "Caddyfile").write_text(f"""
        {{
            admin off
            skip_install_trust
            auto_https disable_redirects
        }}
        http://127.0.0.1:{plain} {{
            {site}
        }}
        https://127.0.0.1:{secure} {{
            tls internal
            {site}
        }}
        """)
    environment = {"PATH": os.environ["PATH"], "HOME": str(work), "XDG_DATA_HOME": str(work), "XDG_CONFIG_HOME": str(work)}
    with servers.program_server(["caddy", "run", "--adapter", "caddyfile", "--config", work / "Caddyfile"], secure, work / "error.log",
                                environment):
        certificate = work / "caddy/pki/authorities/local/root.crt"
        wait_for_handshake(secure, certificate)
        yield [FileServer("Caddy", plain), FileServer("Caddy with HTTP/2", secure, certificate=certificate, http2=True)]


def wait_for_handshake(port: int, certificate: pathlib.Path) -> None:
    """Caddy issues its certificate after it has opened the port."""
    deadline = time.monotonic() + 20
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5) as plain:
            with ssl.create_default_context(cafile=certificate).wrap_socket(plain, server_hostname="127.0.0.1"):
                return
        if time.monotonic() > deadline:
            sys.exit(f"{certificate} isn't the authority of the server's certificate")
        time.sleep(0.05)


@contextlib.contextmanager
def rclone(work: pathlib.Path, root: pathlib.Path):
    # A password is for all files. Without the option, rclone knows a file's old size and date for five minutes, and would send new bytes
    # with them.
    plain, closed = servers.free_port(), servers.free_port()
    command = ["rclone", "serve", "http", "--config", "", "--dir-cache-time", "0", "--addr"]
    with servers.program_server([*command, f"127.0.0.1:{plain}", root], plain, work / "error.log"), \
            servers.program_server([*command, f"127.0.0.1:{closed}", "--user", USER, "--pass", SECRET, root], closed, work / "error.log"):
        # It sends dates but no tags, and a date is strong after a minute.
        yield [FileServer("rclone", plain, closed_port=closed, strong_at_once=False, compresses=False)]


# The programs of each server; one of those with | between them is enough.
ALL = {nginx: ["nginx", "openssl"], apache: ["apache2|httpd", "openssl"], lighttpd: ["lighttpd", "openssl"], caddy: ["caddy"],
       rclone: ["rclone"]}


def missing(server) -> list[str]:
    return [names for names in ALL[server] if not any(shutil.which(name) for name in names.split("|"))]


# MARK: Rows

def rows_of(rows, server: FileServer, root: pathlib.Path) -> None:
    with servers.Relay(server.port) as relay:
        url = server.url(relay.port)

        def run(name: str, path: str, *options: str, **expected) -> None:
            address = path if "://" in path else f"{url}/{path}"
            rows.run(f"{server.name}: {name}", address, [*server.options, *options], **expected)

        file, first, second = root / "file.bin", content(1), content(2)
        write(file, first)
        run("a whole file", "file.bin", expect=first, ranges=0)
        run("an empty file", "empty.bin", expect=b"")
        run("no file", "missing.bin", status=HTTP, shows="404")
        if server.certificate:
            rows.run(f"{server.name}: an unknown authority", f"{url}/file.bin", ["--http2"], status=TLS, shows="--ca-file")
        for text in ["plain", "compressed"]:
            coded = text == "compressed" and server.compresses
            run(f"a text, {text}", "text.txt", *(["--compressed"] if text == "compressed" else []), expect=TEXT,
                **{"shows" if coded else "hides": "content-encoding: "})

        rows_of_passwords(run, server)
        rows_of_interruptions(run, relay, server, file, first, second)
        rows_of_segments(run, relay, server, file, first, second)

        write(file, first)
        run("--newer, no file here", "file.bin", "-N", expect=first)
        run("--newer, the same file", "file.bin", "-N", expect=first, keep=True, shows="< 304")
        write(file, second, OLD + 100)
        run("--newer, a newer file", "file.bin", "-N", expect=second, keep=True, shows="< 200")
        write(file, first, OLD)
        run("--newer, an older file", "file.bin", "-N", expect=second, keep=True)

        before = relay.connections
        names = {small_name(number): content(number, 2000) for number in range(SMALL)}
        rows.run_list(f"{server.name}: many small files", [f"{url}/small/{urllib.parse.quote(name)}" for name in names],
                      [*server.options, "-j", "8"], names)
        # The transport has two threads, which have their own connections. Apache closes connections when its workers are busy.
        used = relay.connections - before
        rows.done(f"{server.name}: connections for many small files", f"{used}" if used > (2 if server.http2 else 16) else None)


def rows_of_passwords(run, server: FileServer) -> None:
    closed = f"{server.url(server.closed_port or server.port)}/closed/text.txt"
    right, wrong = ["--auth", f"{USER}:{SECRET}"], ["--auth", f"{USER}:wrong"]
    run("a password", closed, *right, expect=TEXT)
    run("a wrong password", closed, *wrong, status=AUTHENTICATION)
    run("no password", closed, status=AUTHENTICATION, shows="--auth")
    if server.digest:
        run("Digest authentication", "digest/text.txt", *right, expect=TEXT)
        run("Digest authentication with a wrong password", "digest/text.txt", *wrong, status=AUTHENTICATION)


def rows_of_interruptions(run, relay, server: FileServer, file: pathlib.Path, first: bytes, second: bytes) -> None:
    def interrupted(name: str, kept: range) -> None:
        with relay.cutting(CUT, connections=1):
            run(name, "file.bin", status=NETWORK, partial=kept)

    some = range(CUT // 2, CUT)
    write(file, first)
    interrupted("an interrupted file", some)
    run("an interrupted file, continued", "file.bin", keep=True, expect=first, ranges=1, shows="< 206")
    write(file, first)
    interrupted("a file before it changes", some)
    # The length is the same, so that only the validator tells the difference.
    write(file, second, OLD + 100)
    run("a file that has changed", "file.bin", keep=True, expect=second, ranges=1, shows="< 200")
    # In the future, because Apache compares the date with that of the request.
    write(file, first, time.time() + 1000)
    interrupted("a file that is being changed", some if server.strong_at_once else range(1))
    run("a file that is being changed, continued", "file.bin", keep=True, expect=first, ranges=int(server.strong_at_once))
    run("a file that is being changed, in segments", "file.bin", "--segments", "4", "--min-segment-size", "500k", expect=first,
        ranges=range(2, 100) if server.strong_at_once else 0)


def rows_of_segments(run, relay, server: FileServer, file: pathlib.Path, first: bytes, second: bytes) -> None:
    # Slow enough that a server doesn't send everything while the other connections begin.
    segments = ["--segments", "4", "--min-segment-size", "500k", "--limit-rate", "40M"]
    write(file, first)
    run("segments", "file.bin", *segments, expect=first, ranges=range(3, 100))
    connections, cut = (1, CUT) if server.http2 else (4, 1_000_000)
    with relay.cutting(cut, connections):
        run("interrupted segments", "file.bin", *segments, status=NETWORK, partial=range(SIZE, SIZE + 1))
    run("interrupted segments, continued", "file.bin", *segments, keep=True, expect=first, ranges=range(1, 100))
    with relay.cutting(cut, connections):
        run("segments before the file changes", "file.bin", *segments, status=NETWORK, partial=range(SIZE, SIZE + 1))
    write(file, second, OLD + 100)
    run("segments of a file that has changed", "file.bin", *segments, keep=True, expect=second)
