#!/usr/bin/env python3
"""Runs the scripts in docs/coming-from-curl.md, those of curl, wget and aria2 and those of `sluice`, and compares the files that they leave.

    swift build --product sluice
    Scripts/checks/coming-from-curl.py [TITLE]

The addresses in the scripts are replaced by those of an nginx, a tinyproxy with a password, and a relay that cuts connections, all on
127.0.0.1. They end with the script. If a program isn't there, the scripts are skipped with a message, unless SLUICE_REQUIRE_SERVERS is
set, as in CI. Each script of `sluice` runs twice: repeating it changes nothing. Exits with 1 if a script fails, or if the files differ.
"""
import contextlib, hashlib, os, pathlib, re, shutil, subprocess, sys, tarfile, tempfile

import servers
from builds import ROOT, program

PAGE = ROOT / "docs/coming-from-curl.md"
PROGRAMS = ["nginx", "tinyproxy", "curl", "wget", "aria2c"]
# Of a script's files, these are the user's, and differ.
IGNORED = {"jar", "urls.txt"}


def scripts() -> list[tuple[str, str, str]]:
    """The title of each section, the script with another program, and the one with sluice."""
    found = []
    for section in re.split(r"^## ", PAGE.read_text(), flags=re.M)[1:]:
        blocks = re.findall(r"^```bash\n(.*?)^```", section, flags=re.M | re.S)
        if len(blocks) != 2:
            sys.exit(f"{PAGE}: the section '{section.splitlines()[0]}' has {len(blocks)} scripts instead of 2")
        found.append((section.splitlines()[0], *blocks))
    return found


def content(seed: int, size: int) -> bytes:
    block = hashlib.shake_128(str(seed).encode()).digest(1 << 16)
    return (block * (size // len(block) + 1))[:size]


def make_files(root: pathlib.Path) -> None:
    for name, size in [("songs/one.mp3", 700_000), ("songs/two.mp3", 900_000), ("songs/three.mp3", 10), ("members/report.pdf", 50_000),
                       ("unstable/disk.img", 6_000_000), ("mirror/image.iso", 12_000_000)]:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content(len(name), size))
    (root / "release").mkdir()
    (root / "tool.txt").write_bytes(content(1, 100_000))
    with tarfile.open(root / "release/tool-1.0.tar.gz", "w:gz") as archive:
        archive.add(root / "tool.txt", "tool-1.0/tool.txt")
    digest = hashlib.sha256((root / "release/tool-1.0.tar.gz").read_bytes()).hexdigest()
    (root / "release/SHA256SUMS").write_text(f"{digest}  tool-1.0.tar.gz\n")
    # Old enough for a strong Last-Modified, and readable for nginx's workers.
    for path in [root, *root.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
        os.utime(path, (1_700_000_000, 1_700_000_000))


def nginx(work: pathlib.Path, port: int, mirror: int):
    return servers.nginx(work, port, f"""
        server {{
            listen 127.0.0.1:{port}; root {work}/root;
            location /songs/ {{ autoindex on; }}
            location = /login {{ add_header Set-Cookie "session=1; Path=/"; error_page 405 =200 /login; return 200 "welcome"; }}
            location /members/ {{ if ($cookie_session != "1") {{ return 403; }} }}
        }}
        server {{ listen 127.0.0.1:{mirror}; root {work}/root; }}""")


def tinyproxy(work: pathlib.Path, port: int):
    (work / "tinyproxy.conf").write_text(f"Port {port}\nListen 127.0.0.1\nBasicAuth ann secret\nMaxClients 20\nTimeout 60\n")
    return servers.program_server(["tinyproxy", "-d", "-c", str(work / "tinyproxy.conf")], port, work / "tinyproxy.log")


def files(directory: pathlib.Path) -> dict[str, str]:
    return {str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(directory.rglob("*")) if path.is_file() and path.name not in IGNORED}


def main(only: str | None) -> int:
    missing = [name for name in PROGRAMS if not shutil.which(name)]
    if missing:
        print(f"skipped, because these programs are missing: {', '.join(missing)}. Run Scripts/install-system-packages.sh.")
        return 1 if os.environ.get("SLUICE_REQUIRE_SERVERS") else 0
    failures = 0
    with tempfile.TemporaryDirectory(prefix="sluice-scripts-") as directory, contextlib.ExitStack() as stack:
        work = pathlib.Path(directory)
        work.chmod(0o755)
        make_files(work / "root")
        port, mirror, proxy = servers.free_port(), servers.free_port(), servers.free_port()
        stack.enter_context(nginx(work, port, mirror))
        stack.enter_context(tinyproxy(work, proxy))
        cutting = stack.enter_context(servers.Relay(port, cut=1_500_000)).port
        (work / "bin").mkdir()
        (work / "bin/sluice").symlink_to(program("sluice").resolve())
        replacements = [("https://example.com/unstable", f"http://127.0.0.1:{cutting}/unstable"),
                        ("https://mirror.example.com", f"http://127.0.0.1:{mirror}"), ("proxy.example.com:3128", f"127.0.0.1:{proxy}"),
                        ("https://example.com", f"http://127.0.0.1:{port}"), ("http://example.com", f"http://127.0.0.1:{port}")]
        for title, other, ours in scripts():
            if only and only not in title:
                continue
            found = []
            for name, script, runs in [("other", other, 1), ("sluice", ours, 2)]:
                for old, new in replacements:
                    script = script.replace(old, new)
                place = work / f"{len(found)}-{title.replace(' ', '-')}"
                place.mkdir()
                (place / "urls.txt").write_text("".join(f"http://127.0.0.1:{port}/songs/{song}.mp3\n" for song in ["one", "two", "three"]))
                environment = {"PATH": f"{work}/bin:{os.environ['PATH']}", "HOME": str(work), "XDG_STATE_HOME": str(work / "state")}
                for run in range(runs):
                    result = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=place, env=environment, timeout=180,
                                            stdin=subprocess.DEVNULL, capture_output=True, text=True)
                    if result.returncode != 0:
                        failures += 1
                        print(f"{title}: the script with {name} ended with {result.returncode} in run {run + 1}: {result.stdout}{result.stderr}")
                found.append(files(place))
            if found[0] != found[1] or not found[0]:
                failures += 1
                print(f"{title}: the files differ:\n  other:  {found[0]}\n  sluice: {found[1]}")
            else:
                print(f"{title}: {len(found[0])} files, the same")
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else None))
