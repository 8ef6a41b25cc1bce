#!/usr/bin/env python3
"""Proves that `sluice get` downloads every byte from a real nginx. Scripts/run-benchmarks.sh measures the speed.

    swift build -c release --product sluice
    Scripts/checks/get-from-nginx.py               # 2,000 files of 16 KiB and 4 of 64 MiB

The server listens on 127.0.0.1, on a port that the system chooses, and ends with the script. All files are on tmpfs if /dev/shm is one.
Fails if a byte differs, a partial file remains, or sluice doesn't exit with 0.
"""
import argparse, hashlib, os, pathlib, shutil, subprocess, sys, tempfile

import servers
from builds import program

MIB = 1 << 20
SETS = {"2,000 files of 16 KiB": (2000, 16 << 10), "4 files of 64 MiB": (4, 64 * MIB)}


def blocks(index: int, size: int):
    """Yields the bytes of a file, which differ for each index, in blocks of at most a megabyte."""
    block = hashlib.shake_256(f"file {index}".encode()).digest(min(size, MIB))
    for start in range(0, size, len(block)):
        yield block[: size - start]


def check(directory: pathlib.Path, count: int, size: int) -> None:
    names = sorted(entry.name for entry in directory.glob("*"))
    if names != sorted(f"{index}.bin" for index in range(count)):
        sys.exit(f"{directory}: the files differ from the requested ones; there are {len(names)} instead of {count}")
    for index in range(count):
        with open(directory / f"{index}.bin", "rb") as file:
            if any(file.read(len(block)) != block for block in blocks(index, size)) or file.read(1):
                sys.exit(f"{directory}/{index}.bin differs from the file of the server")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--durability", default="none")
    options = parser.parse_args()
    if not shutil.which("nginx"):
        sys.exit("nginx is missing: run Scripts/install-system-packages.sh")
    options.sluice = program("sluice", "release")
    base = "/dev/shm" if os.path.ismount("/dev/shm") else None
    with tempfile.TemporaryDirectory(prefix="sluice-nginx-", dir=base) as temporary:
        work = pathlib.Path(temporary)
        root = work / "root"
        for number, (count, size) in enumerate(SETS.values()):
            directory = root / str(number)
            directory.mkdir(parents=True)
            for index in range(count):
                with open(directory / f"{index}.bin", "wb") as file:
                    file.writelines(blocks(index, size))
        # If the script runs as root, nginx's workers drop root privileges.
        for directory in [work, root]:
            directory.chmod(0o755)
        port = servers.free_port()
        settings = "sendfile on; keepalive_requests 100000;"
        with servers.nginx(work, port, f"server {{ listen 127.0.0.1:{port}; root {root}; }}", settings):
            for number, (name, (count, size)) in enumerate(SETS.items()):
                download(options, work, f"http://127.0.0.1:{port}/{number}", name, count, size)


def download(options, work: pathlib.Path, url: str, name: str, count: int, size: int) -> None:
    target = work / "target"
    listing = work / "list"
    listing.write_text("".join(f"{url}/{index}.bin\n" for index in range(count)))
    status = subprocess.run(
        [options.sluice, "get", "-q", "-j", "8", "--durability", options.durability, "-d", target, "-i", listing],
        stdin=subprocess.DEVNULL, timeout=300, env=os.environ | {"XDG_STATE_HOME": str(work)}).returncode
    if status != 0:
        sys.exit(f"sluice get of {name} ended with {status}")
    check(target, count, size)
    print(f"{name}: every byte matches the server's")
    shutil.rmtree(target)


main()
