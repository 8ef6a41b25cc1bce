#!/usr/bin/env python3
"""Proves that no test hangs: runs the tests, and names the ones that hang.

    Scripts/checks/watched.py make test
    Scripts/checks/watched.py --silence 60 swift test --filter Limiter
    Scripts/checks/watched.py --again 3 make test

Runs the command with the variable `SLUICE_TEST_EVENTS`, which names the file of the test library's events (`swift test
--event-stream-output-path`). If no test starts or ends for `--silence` seconds, it prints the tests that are running and the stacks of the
test process's threads, ends the command, and exits with 124. Otherwise it exits with the command's status, and repeats what failed at the
end, where people look in a long log. A time limit for the whole step couldn't tell which test hangs.

With `--again`, tests that failed run once more, alone, if no more than this many did. Those that pass then fail only beside others: that is
a mistake in them or in the code, and is written to the file named by `SLUICE_REMARKS`, but doesn't hide what the other checks would find.
"""
import argparse, json, os, pathlib, re, shutil, signal, subprocess, sys, tempfile, time


class Events:
    """Follows the file of events: one JSON object on each line."""

    def __init__(self, path: pathlib.Path):
        self.path, self.offset, self.started = path, 0, {}
        self.failures: dict[str, list[str]] = {}
        self.ended: set[str] = set()
        self.is_complete = False

    def read(self) -> bool:
        """Reads what was added, and returns whether anything was."""
        try:
            with open(self.path, "rb") as file:
                file.seek(self.offset)
                lines = file.read().splitlines(keepends=True)
        except FileNotFoundError:
            return False
        complete = [line for line in lines if line.endswith(b"\n")]
        self.offset += sum(map(len, complete))
        for event in map(json.loads, complete):
            payload = event["payload"]
            key = (payload.get("testID"), (payload.get("_testCase") or {}).get("id"))
            if payload.get("kind") in ("testStarted", "testCaseStarted"):
                self.started[key] = time.monotonic(), (payload.get("_testCase") or {}).get("displayName")
            elif payload.get("kind") in ("testEnded", "testCaseEnded", "testSkipped"):
                self.started.pop(key, None)
                self.ended.add(payload["testID"])
            elif payload.get("kind") == "runEnded":
                self.is_complete = True
            elif payload.get("kind") == "issueRecorded" and not payload["issue"].get("isKnown"):
                place = payload["issue"].get("sourceLocation") or {}
                place = f"{pathlib.Path(place['fileID']).name}:{place['line']}" if place.get("fileID") else "no place is known"
                text = "\n    ".join(message["text"] for message in payload["messages"])
                test = payload.get("testID", "no test")
                self.failures.setdefault(test, []).append(f"{place}, in {test}:\n    {text}"[:2000])
        return bool(complete)

    def running(self) -> list[str]:
        # A suite runs as long as its tests do, so only the tests matter.
        tests = {key: value for key, value in self.started.items() if "/" in key[0] and ".swift:" in key[0]}
        with_cases = {test for test, case in tests if case}
        return [f"{time.monotonic() - since:5.0f} s  {test}" + (f"  with {name}" if name else "")
                for (test, case), (since, name) in sorted(tests.items(), key=lambda item: item[1][0])
                if case or test not in with_cases]


def descendants(root: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for directory in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parent = int((directory / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            continue
        children.setdefault(parent, []).append(int(directory.name))
    found, waiting = [], [root]
    while waiting:
        found += (new := children.get(waiting.pop(), []))
        waiting += new
    return found


def name(process: int) -> str:
    try:
        return pathlib.Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:200]
    except OSError:
        return ""


def print_stacks(process: int) -> None:
    if debugger := shutil.which("gdb"):
        command = [debugger, "-batch", "-nx", "-p", str(process), "-ex", "thread apply all backtrace 40"]
    elif debugger := shutil.which("lldb"):
        command = [debugger, "--batch", "-p", str(process), "-o", "thread backtrace all"]
    else:
        return print("neither gdb nor lldb is installed, so there are no stacks")
    try:
        result = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=120, stdin=subprocess.DEVNULL)
        print("\n".join(line[:240] for line in result.stdout.splitlines() if "New LWP" not in line))
    except subprocess.TimeoutExpired:
        print("the debugger took longer than two minutes")


def run(command: list[str], silence: float, filter: str = "") -> tuple[int, Events]:
    """Runs the command, and returns its status and what happened."""
    with tempfile.TemporaryDirectory() as directory:
        events = Events(pathlib.Path(directory) / "events")
        variables = {"SLUICE_TEST_EVENTS": str(events.path), "SLUICE_TEST_FILTER": filter}
        process = subprocess.Popen(command, env=os.environ | variables)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda number, _: process.send_signal(number))
        began = last = time.monotonic()
        while (status := process.poll()) is None:
            time.sleep(0.5)
            now = time.monotonic()
            if events.read():
                last = now
            # If there is no event, the tests aren't built yet.
            if events.offset == 0 or now - last < silence:
                continue
            running = "\n".join([f"\nno test has started or ended for {now - last:.0f} s. After {now - began:.0f} s these are running:",
                                 *events.running()])
            print(running)
            processes = [process.pid, *descendants(process.pid)]
            print("\n".join(f"process {child}: {name(child)}" for child in processes), flush=True)
            for child in processes:
                if ".xctest" in name(child) or "swiftpm-testing-helper" in name(child):
                    print_stacks(child)
            # Repeated, because the stacks are long, and people read the end of a log.
            print(running, flush=True)
            for number in (signal.SIGTERM, signal.SIGKILL):
                for child in processes:
                    try:
                        os.kill(child, number)
                    except ProcessLookupError:
                        pass
                try:
                    process.wait(timeout=5)
                except subprocess.TimeoutExpired:
                    pass
            return 124, events
        events.read()
        if status and events.failures:
            print("\nwhat failed:", *sum(events.failures.values(), []), sep="\n", flush=True)
        return (status if status >= 0 else 128 - status), events


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--silence", type=float, default=150, metavar="SECONDS")
    parser.add_argument("--again", type=int, default=0, metavar="COUNT")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if not options.command:
        parser.error("a command is missing")
    status, crowded = run(options.command, options.silence)
    # A crash or a hang isn't repeated, nor is an issue that belongs to no test.
    if not status or not crowded.is_complete or not set() < crowded.failures.keys() <= crowded.ended:
        return status
    if len(crowded.failures) > options.again:
        return status
    print(f"\n{len(crowded.failures)} failed, and run again, alone", flush=True)
    # An identifier is `Module.Suite/function()/File.swift:line:column`.
    names = "|".join(re.escape(test.rpartition("/")[0]) for test in crowded.failures)
    status, alone = run(options.command, options.silence, filter=f"^({names})")
    if status == 0 and not crowded.failures.keys() <= alone.ended:
        print("the filter doesn't match all of them")
        status = 1
    passed = [test for test in crowded.failures if test in alone.ended and test not in alone.failures]
    if passed and (path := os.environ.get("SLUICE_REMARKS")):
        with open(path, "a") as file:
            print("failed beside other tests, and passed alone:", *passed, sep="\n  ", file=file)
    return status


if __name__ == "__main__":
    sys.exit(main())
