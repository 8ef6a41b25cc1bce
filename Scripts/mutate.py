#!/usr/bin/env python3
"""Proves that the tests find bugs: inserts them into the sources, one at a time.

    Scripts/mutate.py                           # all of Tests/Mutations: half a minute to two minutes for each
    Scripts/mutate.py --sample 60               # 60 of them, different ones each day (--seed: those of another day)
    Scripts/mutate.py --filter Limiter          # the bugs with this text in their file or description
    Scripts/mutate.py --filter Sources/NativeMark
    Scripts/mutate.py --list
    Scripts/mutate.py --check                   # only whether each text occurs exactly once, and its tests exist

A bug is an entry of Tests/Mutations/*.toml: a file, a text that occurs in it exactly once, its replacement, and the tests to run. The bug
is found if a test fails, the process dies, or the tests don't end within --seconds. The script works on a copy of the sources.

Exits with 2 if --filter matches no bug, and with 1 if a bug isn't found, if its text is missing from the file, or if the tests of the copy
fail without a bug.
"""
import argparse, datetime, functools, os, pathlib, random, re, shutil, subprocess, sys, time, tomllib

ROOT = pathlib.Path(__file__).parents[1]
COPY = ROOT / ".build-mutations/copy"
# No backtraces: two threads that trap at the same time may hang in the backtracer.
ENVIRONMENT = {**os.environ, "SWIFT_BACKTRACE": "enable=no"}


def module(mutation: dict) -> str:
    """Returns the module of a bug, which is built alone, in a separate directory."""
    return mutation["file"].split("/")[1]


def use(name: str) -> None:
    ENVIRONMENT["SLUICE_ONLY"] = name


def copy_sources() -> None:
    """Updates the copy. Unchanged files keep their modification dates, so that only changed files are compiled."""
    names = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True,
                           capture_output=True, text=True).stdout.split("\n")
    wanted = {name for name in names if name and (ROOT / name).is_file()}
    for name in wanted:
        source, target = ROOT / name, COPY / name
        if not target.exists() or target.read_bytes() != source.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    for directory in ("Sources", "Tests"):
        for target in (COPY / directory).rglob("*"):
            if target.is_file() and str(target.relative_to(COPY)) not in wanted:
                target.unlink()


def scratch() -> str:
    return ".build-" + ENVIRONMENT["SLUICE_ONLY"]


def build() -> str | None:
    """Returns the compiler's first error, or None."""
    result = subprocess.run(["swift", "build", "--build-tests", "--scratch-path", scratch()], cwd=COPY, env=ENVIRONMENT, capture_output=True, text=True)
    if result.returncode == 0:
        return None
    errors = [line for line in (result.stdout + result.stderr).splitlines() if "error:" in line]
    return errors[0] if errors else result.stdout[-400:]


def run_tests(tests: str, seconds: float) -> str | None:
    """Returns how the bug was found, or None."""
    command = [f"{scratch()}/debug/sluicePackageTests.xctest", "--testing-library", "swift-testing", "--filter", tests]
    try:
        result = subprocess.run(command, cwd=COPY, env=ENVIRONMENT, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return f"the tests did not end in {seconds:.0f} s"
    if result.returncode == 0:
        ran = [line for line in (result.stdout + result.stderr).splitlines() if "Test run with" in line]
        if not ran or "with 0 tests" in ran[-1]:
            sys.exit(f"No test matches {tests}.")
        return None
    output = (result.stdout + result.stderr).splitlines()
    failed = [line.split('"')[1] for line in output if "recorded an issue" in line and '"' in line]
    return f"“{failed[0]}”" if failed else f"the process died ({result.returncode})"


@functools.cache
def names_of_tests(module: str) -> str:
    """Returns the names of the files, suites and tests of a module, which a filter may select."""
    files = sorted((ROOT / f"Tests/{module}Tests").rglob("*.swift"))
    quoted = [name for file in files for name in re.findall(r"`([^`\n]+)`|@(?:Test|Suite)\(\s*\"([^\"]+)\"", file.read_text())]
    # On one line, because a filter may name a suite and a test in it.
    return " ".join([module + "Tests", *(file.name for file in files), *(one or other for one, other in quoted)])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--filter", default="", help="only bugs with this text in their file or description")
    parser.add_argument("--sample", type=int, metavar="N", help="only N bugs, selected by the seed")
    parser.add_argument("--seed", type=int, default=int(datetime.date.today().strftime("%Y%m%d")), help="selects the sample (default: the date)")
    parser.add_argument("--seconds", type=float, default=120, help="how long the tests may take (default: 120)")
    parser.add_argument("--list", action="store_true", help="only print the bugs")
    parser.add_argument("--check", action="store_true", help="only check that each text occurs in its file exactly once")
    options = parser.parse_args()

    mutations = [mutation for path in sorted((ROOT / "Tests/Mutations").glob("*.toml"))
                 for mutation in tomllib.loads(path.read_text())["mutation"]]
    mutations = [m for m in mutations if options.filter.lower() in (m["file"] + m["what"]).lower()]
    if not mutations:
        print(f"No bug has {options.filter} in its file or description. Pass --list to see all.")
        return 2
    if options.sample is not None and options.sample < len(mutations):
        chosen = sorted(random.Random(options.seed).sample(range(len(mutations)), options.sample))
        print(f"{options.sample} of {len(mutations)} bugs, selected with --seed {options.seed}")
        mutations = [mutations[index] for index in chosen]
    if options.list:
        for mutation in mutations:
            print(f"{pathlib.Path(mutation['file']).name}: {mutation['what']}")
        return 0

    if options.check:
        stale = [m for m in mutations if not (ROOT / m["file"]).is_file() or (ROOT / m["file"]).read_text().count(m["replace"]) != 1]
        for mutation in stale:
            print(f"{mutation['file']}: the text of “{mutation['what']}” doesn't occur exactly once. Change the entry in Tests/Mutations.")
        lost = [m for m in mutations if not re.search(m["tests"], names_of_tests(module(m)))]
        for mutation in lost:
            print(f"{mutation['file']}: no file, suite or test has a name like {mutation['tests']}. Change “{mutation['what']}”.")
        return 1 if stale or lost else 0

    copy_sources()
    for name in sorted({module(m) for m in mutations}):
        use(name)
        everything = "|".join(sorted({m["tests"] for m in mutations if module(m) == name}))
        problem = build() or run_tests(everything, options.seconds * 3)
        if problem:
            print(f"{name}'s tests fail without a bug: {problem}")
            return 1
    missed = 0
    print("| in | the bug | found by | seconds |\n| --- | --- | --- | ---: |")
    for mutation in mutations:
        path = COPY / mutation["file"]
        sound = path.read_text()
        began = time.monotonic()
        use(module(mutation))
        if sound.count(mutation["replace"]) != 1:
            verdict, missed = f"**its text occurs {sound.count(mutation['replace'])} times**", missed + 1
        else:
            path.write_text(sound.replace(mutation["replace"], mutation["with"]))
            error = build()
            found = None if error else run_tests(mutation["tests"], options.seconds)
            verdict = f"**does not compile: {error}**" if error else found or "**nothing**"
            missed += 1 if error or not found else 0
            path.write_text(sound)
        seconds = time.monotonic() - began
        print(f"| {path.stem} | {mutation['what']} | {verdict} | {seconds:.0f} |", flush=True)
    print(f"\n{len(mutations) - missed} of {len(mutations)} found")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
