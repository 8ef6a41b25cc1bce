#!/usr/bin/env python3
"""Looks for inputs that break the parsers of untrusted bytes, with libFuzzer: lists, Metalink, header fields, cookies, configuration files.

    Scripts/checks/fuzz.py [--seconds N] [--keep] [target ...]

Tests/FuzzTargets has the parsers, and the rules for what they accept. The search begins with the inputs in Tests/Corpora, one JSON string per
line, in which each character stands for a byte. With --keep, inputs that reach other code than the kept ones are added there, and those
that reach nothing else are removed. An input that breaks a rule is printed; it belongs in a test of the parser.

The instrumented build is in .build-fuzz. It needs Linux, because Xcode's toolchain has no libFuzzer.
"""
import argparse, json, os, pathlib, re, subprocess, sys, tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORPORA = ROOT / "Tests/Corpora"
SCRATCH = ".build-fuzz"
LONGEST = 2000  # bytes of an input
LONGEST_KEPT = 400


def targets() -> list[str]:
    text = (ROOT / "Tests/FuzzTargets/FuzzTarget.swift").read_text()
    return sorted(name for line in re.findall(r"^    case (\w+(?:, \w+)*)$", text, re.MULTILINE) for name in line.split(", "))


def kept(target: str) -> list[bytes]:
    file = CORPORA / f"{target}.jsonl"
    return [json.loads(line).encode("latin-1") for line in file.read_text().splitlines()] if file.exists() else []


def keep(target: str, inputs: list[bytes]) -> None:
    lines = sorted({json.dumps(data.decode("latin-1")) for data in inputs}, key=lambda line: (len(line), line))
    (CORPORA / f"{target}.jsonl").write_text("".join(line + "\n" for line in lines))


def build() -> pathlib.Path:
    subprocess.run(["swift", "build", "--product", "FuzzWorker", "--scratch-path", SCRATCH, "-Xswiftc", "-sanitize=fuzzer",
                    "-Xswiftc", "-DSLUICE_FUZZING", "-Xswiftc", "-O"], cwd=ROOT, check=True)
    return ROOT / SCRATCH / "debug/FuzzWorker"


def run(worker: pathlib.Path, target: str, directory: pathlib.Path, *arguments) -> subprocess.CompletedProcess:
    # Swift's own handler of crashes would end the process before libFuzzer stores the input.
    environment = {**os.environ, "SLUICE_FUZZ_TARGET": target, "SWIFT_BACKTRACE": "enable=no"}
    return subprocess.run([worker, *arguments], cwd=directory, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace")


def fuzz(worker: pathlib.Path, target: str, seconds: int, seed: int, keeps: bool) -> bool:
    """Returns whether no input broke a rule."""
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        (directory / "corpus").mkdir()
        for number, data in enumerate(kept(target)):
            (directory / "corpus" / str(number)).write_bytes(data)
        done = run(worker, target, directory, f"-max_total_time={seconds}", f"-max_len={LONGEST}", f"-seed={seed}", "-timeout=10",
                   "-rss_limit_mb=1000", "corpus")
        broken = [file for file in directory.iterdir() if re.match("crash-|oom-|timeout-|leak-", file.name)]
        for file in broken:
            reason = re.search(r"(Fatal error.*|ERROR: libFuzzer.*)", done.stdout)
            print(f"--- {target}: {reason[1] if reason else file.name}\n{json.dumps(file.read_bytes().decode('latin-1'))}", flush=True)
        if done.returncode != 0 and not broken:
            print(done.stdout[-4000:])
        runs = re.search(r"Done (\d+) runs", done.stdout)
        covered = re.findall(r"cov: (\d+)", done.stdout)
        if keeps and done.returncode == 0:
            (directory / "merged").mkdir()
            # Without counters, how often code runs makes no difference.
            run(worker, target, directory, "-merge=1", "-use_counters=0", f"-max_len={LONGEST_KEPT}", "merged", "corpus").check_returncode()
            keep(target, [file.read_bytes() for file in (directory / "merged").iterdir()])
        print(f"{target}: {runs[1] if runs else '?'} inputs in {seconds} s, {covered[-1] if covered else '?'} edges, "
              f"{len(kept(target))} kept", flush=True)
        return done.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", nargs="*", help="one of: " + ", ".join(targets()))
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", action="store_true", help="write Tests/Corpora")
    arguments = parser.parse_args()
    unknown = set(arguments.target) - set(targets())
    if unknown:
        parser.error(f"there is no target {', '.join(sorted(unknown))}")
    worker = build()
    results = [fuzz(worker, target, arguments.seconds, arguments.seed, arguments.keep) for target in arguments.target or targets()]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
