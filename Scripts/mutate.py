#!/usr/bin/env python3
"""Puts bugs into SluiceConcurrency, SluiceFiles and NativeMark, one after the other, and sees whether their tests find each.

    Scripts/mutate.py                           # all of Tests/Mutations: half a minute to two minutes for each
    Scripts/mutate.py --sample 60               # that many of them, others each day (--seed: those of another day)
    Scripts/mutate.py --filter Limiter          # those whose file or description has it
    Scripts/mutate.py --filter Sources/NativeMark
    Scripts/mutate.py --list

A bug is an entry of Tests/Mutations/*.toml: a file, a text that occurs in it exactly once, what to put there instead, and which
tests to run. It is caught if a test fails, the process dies, or the tests do not end within --seconds. The sources are copied
to a folder of their own first; nothing in yours is touched.

Ends with 2 if --filter leaves none, with 1 if a bug is not found, if its text is gone from the file, or if the copy's tests fail without any bug.
"""
import argparse, datetime, os, pathlib, random, shutil, subprocess, sys, time, tomllib

ROOT = pathlib.Path(__file__).parents[1]
COPY = ROOT / ".build-mutations/copy"
# A process that dies says nothing more than that: two threads that trap at once may hang in the backtracer.
ENVIRONMENT = {**os.environ, "SWIFT_BACKTRACE": "enable=no"}


def module(mutation: dict) -> str:
    """The module of a bug, which is built alone, in a folder of its own."""
    return mutation["file"].split("/")[1]


def use(name: str) -> None:
    ENVIRONMENT["SLUICE_ONLY"] = name


def copy_sources() -> None:
    """Brings the copy up to date; files that are the same keep their dates, so that only what changed is compiled."""
    names = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True,
                           capture_output=True, text=True).stdout.split("\n")
    wanted = {name for name in names if name and (ROOT / name).is_file()}
    for name in wanted:
        source, target = ROOT / name, COPY / name
        if not target.exists() or target.read_bytes() != source.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    for folder in ("Sources", "Tests"):
        for target in (COPY / folder).rglob("*"):
            if target.is_file() and str(target.relative_to(COPY)) not in wanted:
                target.unlink()


def scratch() -> str:
    return ".build-" + ENVIRONMENT["SLUICE_ONLY"]


def build() -> str | None:
    """What the compiler says against it, or None."""
    result = subprocess.run(["swift", "build", "--build-tests", "--scratch-path", scratch()], cwd=COPY, env=ENVIRONMENT, capture_output=True, text=True)
    if result.returncode == 0:
        return None
    errors = [line for line in (result.stdout + result.stderr).splitlines() if "error:" in line]
    return errors[0] if errors else result.stdout[-400:]


def run_tests(tests: str, seconds: float) -> str | None:
    """How the bug showed, or None if it did not."""
    command = [f"{scratch()}/debug/sluicePackageTests.xctest", "--testing-library", "swift-testing", "--filter", tests]
    try:
        result = subprocess.run(command, cwd=COPY, env=ENVIRONMENT, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return f"did not end in {seconds:.0f} s"
    if result.returncode == 0:
        ran = [line for line in (result.stdout + result.stderr).splitlines() if "Test run with" in line]
        if not ran or "with 0 tests" in ran[-1]:
            sys.exit(f"No test matches {tests}.")
        return None
    output = (result.stdout + result.stderr).splitlines()
    failed = [line.split('"')[1] for line in output if "recorded an issue" in line and '"' in line]
    return f"“{failed[0]}”" if failed else f"the process died ({result.returncode})"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--filter", default="", help="only bugs whose file or description has this")
    parser.add_argument("--sample", type=int, metavar="N", help="only N bugs, chosen by the seed")
    parser.add_argument("--seed", type=int, default=int(datetime.date.today().strftime("%Y%m%d")), help="of the sample (default: the date)")
    parser.add_argument("--seconds", type=float, default=120, help="how long the tests may take (default: 120)")
    parser.add_argument("--list", action="store_true", help="only print what there is")
    options = parser.parse_args()

    mutations = [mutation for path in sorted((ROOT / "Tests/Mutations").glob("*.toml"))
                 for mutation in tomllib.loads(path.read_text())["mutation"]]
    mutations = [m for m in mutations if options.filter.lower() in (m["file"] + m["what"]).lower()]
    if not mutations:
        print(f"No bug's file or description has {options.filter}. See --list.")
        return 2
    if options.sample is not None and options.sample < len(mutations):
        chosen = sorted(random.Random(options.seed).sample(range(len(mutations)), options.sample))
        print(f"{options.sample} of {len(mutations)} bugs, chosen with --seed {options.seed}")
        mutations = [mutations[index] for index in chosen]
    if options.list:
        for mutation in mutations:
            print(f"{pathlib.Path(mutation['file']).name}: {mutation['what']}")
        return 0

    copy_sources()
    for name in sorted({module(m) for m in mutations}):
        use(name)
        everything = "|".join(sorted({m["tests"] for m in mutations if module(m) == name}))
        problem = build() or run_tests(everything, options.seconds * 3)
        if problem:
            print(f"{name}'s tests fail without any bug: {problem}")
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
