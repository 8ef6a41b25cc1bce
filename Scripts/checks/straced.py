"""Runs a program under strace, for the scripts that look at its system calls."""
import argparse, os, pathlib, re, shutil, subprocess, sys, tempfile
from typing import NoReturn

ROOT = pathlib.Path(__file__).parents[1]
SCRIPT = pathlib.Path(sys.argv[0]).stem


def arguments(description: str) -> argparse.Namespace:
    """The options that these scripts share. Ends the script where there is no strace: with 0, or with 1 if it is required."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worker", type=pathlib.Path, help="a FileWorker that was built before")
    parser.add_argument("--require", action="store_true", help="fail where there is no strace, or it may not trace")
    global is_required
    given = parser.parse_args()
    is_required = given.require
    if not shutil.which("strace"):
        skip("there is no strace here; install the package strace")
    return given


is_required = False


def skip(reason: str) -> NoReturn:
    """Ends the script, as it cannot check anything here."""
    if is_required:
        sys.exit(f"{SCRIPT}: not checked, and --require was passed: {reason}")
    print(f"{SCRIPT}: skipped: {reason}")
    sys.exit(0)


def worker(given: pathlib.Path | None) -> pathlib.Path:
    """FileWorker: the one given, or one built now."""
    if given:
        return given
    subprocess.run(["swift", "build", "--product", "FileWorker"], cwd=ROOT, check=True,
                   env={**os.environ, "SLUICE_ONLY": "SluiceFiles"})
    return ROOT / ".build/debug/FileWorker"


def traced(command: list[str], calls: str, environment: dict[str, str] = {}) -> tuple[list[str], str]:
    """The calls of a program and its threads, in order of their beginning: `fsync(4</tmp/x>) = 0`. And what it printed."""
    with tempfile.NamedTemporaryFile(suffix=".strace") as log:
        result = subprocess.run(["strace", "-f", "-y", "-s", "256", "-e", f"trace={calls}", "-o", log.name, *command],
                                capture_output=True, text=True, env={**os.environ, **environment})
        lines = pathlib.Path(log.name).read_text(errors="replace").splitlines()
    if "ptrace" in result.stderr and "not permitted" in result.stderr:
        skip(f"strace may not trace here: {result.stderr.strip().splitlines()[0]}")
    if result.returncode != 0:
        sys.exit(f"{SCRIPT}: {' '.join(command)} ended with {result.returncode}: {result.stderr[-600:]}")
    return joined(lines), result.stdout


def joined(lines: list[str]) -> list[str]:
    """Puts `unfinished` and `resumed` halves together, at the place of the first."""
    calls: list[str] = []
    begun: dict[tuple[str, str], int] = {}
    for line in lines:
        match = re.match(r"(\d+)\s+(.*)", line)
        if not match:
            continue
        thread, text = match.groups()
        if half := re.match(r"(\w+)(\(.*) <unfinished \.\.\.>$", text):
            begun[thread, half[1]] = len(calls)
            calls.append(half[1] + half[2])
        elif rest := re.match(r"<\.\.\. (\w+) resumed>(.*)$", text):
            if (place := begun.pop((thread, rest[1]), None)) is not None:
                calls[place] += rest[2]
        elif re.match(r"\w+\(", text):
            calls.append(text)
    return calls
