#!/usr/bin/env python3
"""Runs the examples in the help of each command and in docs/cli.md. (The man page has those of the help.)

    swift build --product sluice
    Scripts/checks/examples-of-help.py [PATTERN]

Each example runs in a directory of its own, with the files that it mentions: lists, a queue, a cache and downloads of an earlier command.
The servers in the examples are replaced by one on 127.0.0.1 that ends with the script, and programs such as mp3gain by stand-ins. What
can't run here is listed in SKIPPED with the reason. Exits with 1 if an example ends with another status than it should.
"""
import concurrent.futures, hashlib, http.server, io, os, pathlib, re, shutil, signal, subprocess, sys, tarfile, tempfile, threading

from builds import ROOT, program

COMMANDS = ["get", *(f"queue {name}" for name in "add list watch serve work pause resume cancel retry remove copy".split()), "verify",
            *(f"cache {name}" for name in "stats list verify trim remove".split()), "show", "demo"]
SKIPPED = {
    r"--resolve": "the certificate would have to be for example.com",
    r"postgres://": "Scripts/checks/postgres.sh runs the tests of PostgreSQL",
    r"sluice show --remote": "it fetches from the network",
}
# These run until somebody stops them: they get SIGINT.
ENDLESS = [r"queue watch", r"queue serve", r"queue work(?!.*--until-empty)"]
# Those with a checksum that no file has, those about downloads that the queue doesn't have, and those that ask a page that isn't served.
STATUSES = {r"9f86d081884c": 9, r"queue \w+ --db .*\b7\b": 1, r"curl .*:8080": 7}
BODY = b"a song\n" * 1000


class Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = ARCHIVE if self.path.endswith(".tar.gz") else b"# Notes\n\nText\n" if self.path.endswith(".md") else BODY
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", f'"{hashlib.sha256(body).hexdigest()[:8]}"')
        self.send_header("Cache-Control", "max-age=600")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def archive() -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as file:
        entry = tarfile.TarInfo("a.txt")
        entry.size = len(BODY)
        file.addfile(entry, io.BytesIO(BODY))
    return data.getvalue()


ARCHIVE = archive()


def examples(sluice: pathlib.Path) -> list[tuple[str, str]]:
    """Where each example comes from, and its commands."""
    found = []
    for command in COMMANDS:
        text = subprocess.run([sluice, *command.split(), "--help"], capture_output=True, text=True, check=True,
                              env={**os.environ, "COLUMNS": "1000"}).stdout
        section = re.search(r"^EXAMPLES:\n(.*?)(?:\n\n|\Z)", text, flags=re.M | re.S)
        if not section:
            continue
        # The help is wrapped at 80 columns: what isn't indented continues the line before.
        lines = re.sub(r"\n(?! )", " ", section[1]).split("\n")
        commands = [line.strip() for line in lines if line.startswith("    ")]
        found += [(f"sluice {command} --help", line) for line in commands]
    for block in re.findall(r"^```(?:sh|bash)\n(.*?)^```", (ROOT / "docs/cli.md").read_text(), flags=re.M | re.S):
        for paragraph in block.strip().split("\n\n"):
            if "sluice" in paragraph:
                found.append(("docs/cli.md", paragraph))
    return found


def prepare(place: pathlib.Path, sluice: pathlib.Path, url: str) -> None:
    """Makes the files that the examples mention."""
    place.mkdir()
    songs = "".join(f"{url}/song-{number}.mp3\n" for number in range(3))
    digest = hashlib.sha256(BODY).hexdigest()
    files = {"list.txt": songs, "top500.txt": songs, "token": "abcdefghijklmnop\n", "token.txt": "abc\n", "password.txt": "ann:secret\n",
             "SHA256SUMS": "".join(f"{digest}  song-{number}.mp3\n" for number in range(3)) + f"{digest}  image.iso\n",
             "notes.md": "# Notes\n\nText with `code`.\n", "README.md": "# Read\n",
             "dark.json": "{}\n",
             "image.meta4": '<?xml version="1.0"?><metalink xmlns="urn:ietf:params:xml:ns:metalink"><file name="a.iso">'
                            f'<url>{url}/a.iso</url></file></metalink>'}
    for name, text in files.items():
        (place / name).write_text(text)
    for directory in ["done", "bin", "data", "srv", "run"]:
        (place / directory).mkdir()
    programs = {"generate-urls": f"printf '%s\\n' {url}/generated-1.mp3 {url}/generated-2.mp3", "mp3gain": "exit 0", "pass": "echo ann:secret",
                "jq": "cat >/dev/null"}
    for name, text in programs.items():
        (place / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (place / "bin" / name).chmod(0o755)
    (place / "bin/sluice").symlink_to(sluice.resolve())
    (place / "bin/curl").write_text(f"#!/bin/sh\nexec {shutil.which('curl') or 'false'} \"$@\"\n")
    (place / "bin/curl").chmod(0o755)


def environment(place: pathlib.Path) -> dict[str, str]:
    return {"PATH": f"{place}/bin:{os.environ['PATH']}", "HOME": str(place), "TERM": "dumb"}


def run(place: pathlib.Path, command: str, endless: bool) -> tuple[int, str]:
    process = subprocess.Popen(["bash", "-eo", "pipefail", "-c", command], cwd=place, env=environment(place), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    try:
        output, _ = process.communicate(timeout=3 if endless else 120)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGINT)
        output, _ = process.communicate(timeout=30)
    return process.returncode, output


def problem_of(source: str, command: str, place: pathlib.Path, sluice: pathlib.Path, url: str) -> str | None:
    """Runs an example, and returns what is wrong with it."""
    prepare(place, sluice, url)
    # What earlier commands have left behind, if the example is about that.
    if "queue" in command and "queue add" not in command:
        run(place, "sluice queue add --db songs.db -d music -i list.txt --user ann", False)
    if "sluice verify" in command and "sluice get" not in command:
        (place / "image.iso").write_bytes(BODY)
        run(place, "sluice get -q --xattr -i list.txt && sluice get -q --xattr -i list.txt -d music && cp -a music srv", False)
    if "cache" in command and "get" not in command:
        run(place, f"sluice get -q --cache -o news.html {url}/news.html && sluice get -q --cache {url}/a.jpg", False)
    replaced = re.sub(r"https://(mirror\.)?(example\.com|mirror\.example)(?::\d+)?", url, command)
    replaced = re.sub(r"(?<![\w.])/(data|srv|run)/", rf"{place}/\1/", replaced)
    endless = any(re.search(one, command) for one in ENDLESS)
    status, output = run(place, replaced, endless)
    allowed = {next((value for key, value in STATUSES.items() if re.search(key, command)), 0)}
    if endless:
        # Interrupted: see the exit statuses in docs/cli.md.
        allowed |= {7, 130}
    shutil.rmtree(place)
    if status in allowed:
        return None
    return f"{source}:\n  {command}\n  ended with {status} instead of {allowed}: {output.strip()}\n"


def main(pattern: str) -> int:
    sluice = program("sluice")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    chosen = [(source, command) for source, command in examples(sluice)
              if re.search(pattern, command) and not any(re.search(skipped, command) for skipped in SKIPPED)]
    with tempfile.TemporaryDirectory(prefix="sluice-examples-") as directory, concurrent.futures.ThreadPoolExecutor(3) as pool:
        places = [pathlib.Path(directory) / str(number) for number in range(len(chosen))]
        problems = [problem for problem in pool.map(lambda one: problem_of(*one[0], one[1], sluice, url), zip(chosen, places)) if problem]
    for problem in problems:
        print(problem)
    print(f"{len(chosen)} examples, {len(problems)} failures")
    return 1 if problems or not chosen else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
