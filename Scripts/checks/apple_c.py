"""Compiles the C targets for Apple's platforms against the headers in Tests/AppleStubs/include, for apple.py."""
import pathlib, re, subprocess, tempfile
from apple_platforms import Platform
from builds import ROOT

HEADERS = ROOT / "Tests/AppleStubs/include"
TARGETS = ("CSluiceFiles", "CSluiceHTTP", "CSluicePostgres")
# Headers of other projects, from this machine. Apple's SDKs have the first two.
OTHERS = ("curl", "sqlite3.h", "postgresql", "libpq-fe.h", "openssl")
PLACES = ("/usr/include", "/usr/include/x86_64-linux-gnu", "/usr/include/aarch64-linux-gnu")
DIRECTIVE = re.compile(r"\s*#\s*(if|ifdef|ifndef|elif|else)\b")


def compiled(target: str, words: list, file: pathlib.Path, others: pathlib.Path) -> str:
    """Returns the errors of a C file."""
    words = ["clang", "-target", target, "-fsyntax-only", "-Wall", "-Werror", "-Wunguarded-availability", "-ferror-limit=0", *words]
    result = subprocess.run([*map(str, [*words, "-isystem", others, file])], capture_output=True, text=True)
    return result.stderr if result.returncode else ""


def options(platform: Platform, others: pathlib.Path) -> list:
    words = ["-nostdlibinc", "-isystem", HEADERS]
    # The queue on PostgreSQL is for servers.
    return words + (["-DSLUICE_POSTGRESQL", "-isystem", others / "postgresql"] if platform.name == "macOS" else [])


def check_c(platforms: list[Platform], self_check: bool) -> list[str]:
    with tempfile.TemporaryDirectory() as directory:
        others = pathlib.Path(directory) / "others"
        others.mkdir()
        for name in OTHERS:
            if place := next((place for place in PLACES if pathlib.Path(place, name).exists()), None):
                (others / name).symlink_to(f"{place}/{name}")
        problems = []
        for platform in platforms:
            for name in TARGETS:
                for file in sorted((ROOT / "Sources" / name).glob("*.c")):
                    if output := compiled(platform.target, [*options(platform, others), "-I", file.parent / "include"], file, others):
                        problems.append(f"for {platform.name}, {file.relative_to(ROOT)} does not compile:\n{output}")
        return problems + (check_mistakes(platforms, pathlib.Path(directory), others) if self_check and not problems else [])


def check_mistakes(platforms: list[Platform], directory: pathlib.Path, others: pathlib.Path) -> list[str]:
    """Inserts a mistake after each directive. Those that this machine doesn't compile must be found on a platform of Apple."""
    places, of_linux, of_apple = set(), set(), set()
    for name in TARGETS:
        for path in sorted((ROOT / "Sources" / name).rglob("*.[ch]")):
            copy = directory / path.relative_to(ROOT / "Sources")
            copy.parent.mkdir(parents=True, exist_ok=True)
            lines = path.read_text().split("\n")
            for number, line in enumerate(lines):
                # An arm that only explains what is missing is a mistake itself.
                if DIRECTIVE.match(line) and not lines[number + 1].lstrip().startswith("#error"):
                    place = f"{path.relative_to(ROOT)}:{number + 1}"
                    places.add(place)
                    lines[number] += f'\n#error "mistake at {place}"'
            copy.write_text("\n".join(lines))
        for file in sorted((directory / name).glob("*.c")):
            include = ["-I", directory / name / "include"]
            find = lambda output: set(re.findall(r'"mistake at (\S+)"', output))
            host = subprocess.run(["clang", "-print-target-triple"], capture_output=True, text=True).stdout.strip()
            of_linux |= find(compiled(host, ["-DSLUICE_POSTGRESQL", *include], file, others))
            for platform in platforms:
                of_apple |= find(compiled(platform.target, [*options(platform, others), *include], file, others))
    missing = places - of_linux
    for place in sorted(missing - of_apple):
        print(f"{place}: no system of this check compiles this part")
    print(f"{len(missing & of_apple)} parts of C files are only for Apple's platforms")
    required = {place for place in missing - of_apple if "__APPLE__" in (ROOT / place.split(":")[0]).read_text().split("\n")[
        int(place.split(":")[1]) - 1] and "!" not in place}
    return [f"{place}: a mistake in this part isn't found" for place in sorted(required)]
