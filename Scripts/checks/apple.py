#!/usr/bin/env python3
"""Proves that the whole package type-checks for macOS, iOS, tvOS, watchOS and visionOS on a machine without Apple's SDKs.

    Scripts/checks/apple.py
    Scripts/checks/apple.py --self-check     # also inserts mistakes, and fails if one isn't found

The compiler compiles for Apple's platforms: it evaluates `os(…)` and `canImport(…)`, and refuses API that is newer than the manifest's
platforms. Tests/AppleStubs has stubs for Apple's modules that Linux lacks. Its README says where the other modules come from, and what this
check doesn't prove. The check needs a debug build (`swift build --traits PostgreSQL`) in `SLUICE_SCRATCH` for the modules of the
dependencies.

In addition to the modules, it checks the C targets, code of an app (Tests/AppleStubs/Use), the samples with `Apple` in their path or with
views, the steps of the tutorial, and the example app.

With `--self-check`, a mistake is inserted into each arm of each `#if` that Linux doesn't compile. Each mistake must be found on at least
one platform. Arms that no platform compiles are listed.
"""
import argparse, concurrent.futures, dataclasses, pathlib, re, subprocess, sys, tempfile
from apple_platforms import Compiler, Platform, platforms
from builds import ROOT, SCRATCH
from documented import Documented, function

STUBS = ROOT / "Tests/AppleStubs"
FEATURES = ["NonisolatedNonsendingByDefault", "InferIsolatedConformances", "ExistentialAny", "InternalImportsByDefault",
            "MemberImportVisibility"]
STRICT = ["-swift-version", "6", "-warnings-as-errors", "-package-name", "sluice", "-enable-experimental-feature", "Lifetimes",
          *(word for feature in FEATURES for word in ("-enable-upcoming-feature", feature))]
STUB = ["-swift-version", "6", "-suppress-warnings"]
# The modules that every platform has, lowest layer first, and the modules of the command line.
LIBRARIES = ["SluiceLock", "SluiceConcurrency", "SluiceFiles", "NativeMark", "SluiceHTTP", "SluiceDatabase", "SluiceCache", "SluiceDownloads",
             "SluiceService"]
OF_MACOS = ["SluicePostgres", "SluiceServer", "LoopbackOrigin", "SluiceCommands", "sluice"]
# What the tests use, except files that import Testing: the toolchain has no compiled module for Testing.
OF_TESTS = {"TestSupport": "Tests/TestSupport", "ConcurrencyStress": "Tests/Stress", "FileWorker": "Tests/FileWorker",
            "CacheWorker": "Tests/CacheWorker", "MarkdownWorker": "Tests/MarkdownWorker",
            "SmallStack": "Tests/NativeMarkTests/Support/SmallStack.swift",
            "PseudoTerminal": "Tests/SluiceCommandsTests/Support/PseudoTerminal.swift"}
# The example that only Xcode builds.
EXAMPLE, EXAMPLE_PLATFORMS = ROOT / "Examples/AppleApp", ("macOS", "iOS")


def modules_of(platform: Platform) -> list[str]:
    return LIBRARIES + ([*OF_MACOS, *OF_TESTS] if platform.name == "macOS" else [])


def rewritten(text: str) -> str:
    """Returns a source file in which the names of modules are replaced by those of the stubs. The line numbers don't change."""
    # Hide the Linux modules, which are there because the dependencies need them.
    text = re.sub(r"\bcanImport\((Glibc|Musl|FoundationEssentials|FoundationNetworking)\)", "false", text)
    text = re.sub(r"^((?:\w+ )?import )(Glibc|Musl|FoundationEssentials|FoundationNetworking)$", r"\1\2OfLinux", text, flags=re.M)
    text = re.sub(r"^((?:\w+ )?import )(Foundation|Dispatch)$", r"\1Apple\2", text, flags=re.M)
    # Objective-C's runtime isn't there.
    text = text.replace("@objc ", "")
    # A C module exports the parts of the C library that it includes.
    text = re.sub(r"^((?:\w+ )?import )(CSluiceFiles|CSluiceHTTP)$", r"\1\2; \1Darwin", text, flags=re.M)
    return re.sub(r"\bCSluiceFiles\.(?!csluice)", "Darwin.", text)


def sources(module: str) -> list[pathlib.Path]:
    path = ROOT / OF_TESTS.get(module, f"Sources/{module}")
    return [path] if path.is_file() else sorted(path.rglob("*.swift"))


def copied(compiler: Compiler, module: str) -> list[pathlib.Path]:
    return [written(compiler, "copy", path, rewritten(path.read_text())) for path in sources(module)] + embedded(compiler, module)


def embedded(compiler: Compiler, module: str) -> list[pathlib.Path]:
    """What SwiftPM generates for the resources in a module's code."""
    files = [path for path in (ROOT / f"Sources/{module}").glob("*/Resources/*") if path.parents[1].suffix != ".docc"]
    members = "".join(f"    static let {re.sub('[^A-Za-z0-9]', '_', path.name)}: [UInt8] = []\n" for path in sorted(files))
    text = f"struct PackageResources {{\n{members}}}\n"
    return [written(compiler, "copy", ROOT / f"Sources/{module}/PackageResources.swift", text)] if files else []


def written(compiler: Compiler, kind: str, path: pathlib.Path, text: str) -> pathlib.Path:
    copy = compiler.directory / kind / path.relative_to(ROOT)
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_text(text)
    return copy


def flags(names: set[str]) -> list[str]:
    return [word for name in sorted(names) for word in ("-D", name)]


def emit_stubs(compiler: Compiler) -> None:
    more = {"AppKit": [], "UIKit": ["UIKitValues.swift"], "SwiftUI": ["SwiftUIApp.swift"]}
    kits = {kit: [f"{kit}.swift", *more[kit]] for kit in compiler.platform.kits}
    if compiler.platform.name == "watchOS":
        # UIKit has no views there.
        kits["UIKit"] = more["UIKit"]
    stubs = {"DarwinStructures": ["DarwinStructures.swift"],
             "Darwin": sorted(str(path.relative_to(STUBS)) for path in STUBS.glob("Darwin/*.swift")),
             "AppleFoundation": ["AppleFoundation.swift"], "AppleDispatch": ["AppleDispatch.swift"],
             "CoreGraphics": ["CoreGraphics.swift"], "CoreText": ["CoreText.swift"],
             "ImageIO": ["ImageIO.swift"], "CryptoKit": ["CryptoKit.swift"], **kits}
    for module, files in stubs.items():
        # As in Apple's modules, except the C library: an enumeration may get more cases later, so a switch needs @unknown default, and each
        # declaration says when it was introduced.
        strict = [] if module.startswith("Darwin") else ["-enable-library-evolution", "-require-explicit-availability=error"]
        if output := compiler.emit(module, *STUB, *strict, *(STUBS / file for file in files)):
            sys.exit(f"for {compiler.platform.name}, the stub of {module} does not compile:\n{output}")


def check_modules(compiler: Compiler) -> list[str]:
    for module in modules_of(compiler.platform):
        words = [*STRICT, *flags(FLAGS), *copied(compiler, module)]
        # Only modules that another module imports are emitted. Emitting also finds mistakes in the data flow.
        is_imported = module not in OF_TESTS or module == "TestSupport"
        if output := compiler.emit(module, *words) if is_imported else compiler.typecheck(module, "-parse-as-library", *words):
            return [f"for {compiler.platform.name}, {module} does not compile:\n{output}"]
    return []


def check_app(compiler: Compiler) -> list[str]:
    """Checks code that uses the modules: the declarations for the platform must exist."""
    name, kits = compiler.platform.name, compiler.platform.kits
    uses = [("Queue", ["Queue.swift"])]
    if name != "watchOS":
        uses.append(("Use", ["Common.swift", f"{kits[0]}.swift"]))
    problems = []
    for module, files in uses:
        if output := compiler.typecheck(module, "-parse-as-library", *STRICT, *(STUBS / "Use" / file for file in files)):
            problems.append(f"for {name}, an app does not compile:\n{output}")
    if len(uses) > 1:
        problems += check_samples(compiler) + check_tutorial(compiler)
    if name in EXAMPLE_PLATFORMS:
        files = [written(compiler, "copy", path, rewritten(path.read_text())) for path in sorted(EXAMPLE.rglob("*.swift"))]
        if output := compiler.typecheck("Example", "-parse-as-library", *STRICT, *files):
            problems.append(f"for {name}, the example app does not compile:\n{output}")
    return problems


def check_tutorial(compiler: Compiler) -> list[str]:
    """Checks each step of the tutorial: a file of the model alone, and a view together with the last state of the model."""
    steps = sorted((ROOT / "docs/Sluice.docc/Tutorial").glob("*.swift"))
    if not steps:
        return ["The tutorial has no steps."]
    model = max(path for path in steps if "View" not in path.name)
    problems = []
    for step in steps:
        files = [written(compiler, "copy", path, rewritten(path.read_text())) for path in {step, model} if path == step or "View" in step.name]
        if output := compiler.typecheck("Tutorial", "-parse-as-library", "-swift-version", "6", *files):
            problems.append(f"for {compiler.platform.name}, {step.name} of the tutorial does not compile:\n{output}")
    return problems


def check_samples(compiler: Compiler) -> list[str]:
    """Checks the samples of the Apple files and articles, and the samples with views."""
    samples = []
    for path in [ROOT / "README.md", *sorted((ROOT / "Sources").rglob("*"))]:
        if path.suffix in (".swift", ".md"):
            is_of_apple = "NativeMark" in path.parts and "Apple" in str(path.relative_to(ROOT))
            samples += [sample for sample in Documented(path).samples if is_of_apple or re.search(r": View \{", sample.code)]
    imports = ["AppleFoundation", "NativeMark", "SluiceCache", "SluiceConcurrency", "SluiceDownloads", "SwiftUI"]
    code = "".join(f"import {name}\n" for name in imports)
    code += "".join("@MainActor " + function(sample, f"sample{number}") for number, sample in enumerate(samples))
    (compiler.directory / "Samples.swift").write_text(code)
    output = compiler.typecheck("Samples", "-parse-as-library", "-swift-version", "6", "-enable-upcoming-feature",
                                "NonisolatedNonsendingByDefault", compiler.directory / "Samples.swift", STUBS / "Use/Queue.swift",
                                *(ROOT / f"Tests/Snippets/NativeMark/{name}.swift" for name in ("Common", "Apple")))
    if not samples:
        return ["There is no sample for Apple's platforms."]
    return [f"for {compiler.platform.name}, a sample does not compile:\n{output}"] if output else []


# MARK: C targets

HEADERS = ROOT / "Tests/AppleStubs/include"
C_TARGETS = ("CSluiceFiles", "CSluiceHTTP", "CSluicePostgres")
# Headers of other projects, from this machine. Apple's SDKs include the first two.
OTHER_HEADERS = ("curl", "sqlite3.h", "postgresql", "libpq-fe.h", "openssl")
HEADER_PLACES = ("/usr/include", "/usr/include/x86_64-linux-gnu", "/usr/include/aarch64-linux-gnu")
C_DIRECTIVE = re.compile(r"\s*#\s*(if|ifdef|ifndef|elif|else)\b")


def compiled_c(target: str, words: list, file: pathlib.Path, others: pathlib.Path) -> str:
    """Returns the errors of a C file."""
    words = ["clang", "-target", target, "-fsyntax-only", "-Wall", "-Werror", "-Wunguarded-availability", "-ferror-limit=0", *words]
    result = subprocess.run([*map(str, [*words, "-isystem", others, file])], capture_output=True, text=True)
    return result.stderr if result.returncode else ""


def c_options(platform: Platform, others: pathlib.Path) -> list:
    words = ["-nostdlibinc", "-isystem", HEADERS]
    # The PostgreSQL queue is for servers.
    return words + (["-DSLUICE_POSTGRESQL", "-isystem", others / "postgresql"] if platform.name == "macOS" else [])


def check_c(platforms: list[Platform], self_check: bool) -> list[str]:
    with tempfile.TemporaryDirectory() as directory:
        others = pathlib.Path(directory) / "others"
        others.mkdir()
        for name in OTHER_HEADERS:
            if place := next((place for place in HEADER_PLACES if pathlib.Path(place, name).exists()), None):
                (others / name).symlink_to(f"{place}/{name}")
        problems = []
        for platform in platforms:
            for name in C_TARGETS:
                for file in sorted((ROOT / "Sources" / name).glob("*.c")):
                    if output := compiled_c(platform.target, [*c_options(platform, others), "-I", file.parent / "include"], file, others):
                        problems.append(f"for {platform.name}, {file.relative_to(ROOT)} does not compile:\n{output}")
        return problems + (check_c_mistakes(platforms, pathlib.Path(directory), others) if self_check and not problems else [])


def check_c_mistakes(platforms: list[Platform], directory: pathlib.Path, others: pathlib.Path) -> list[str]:
    """Inserts a mistake after each directive. The ones that this machine doesn't compile must be found on one of Apple's platforms."""
    places, of_linux, of_apple = set(), set(), set()
    for name in C_TARGETS:
        for path in sorted((ROOT / "Sources" / name).rglob("*.[ch]")):
            copy = directory / path.relative_to(ROOT / "Sources")
            copy.parent.mkdir(parents=True, exist_ok=True)
            lines = path.read_text().split("\n")
            for number, line in enumerate(lines):
                # An arm that only reports what is missing is itself an error.
                if C_DIRECTIVE.match(line) and not lines[number + 1].lstrip().startswith("#error"):
                    place = f"{path.relative_to(ROOT)}:{number + 1}"
                    places.add(place)
                    lines[number] += f'\n#error "mistake at {place}"'
            copy.write_text("\n".join(lines))
        for file in sorted((directory / name).glob("*.c")):
            include = ["-I", directory / name / "include"]
            find = lambda output: set(re.findall(r'"mistake at (\S+)"', output))
            host = subprocess.run(["clang", "-print-target-triple"], capture_output=True, text=True).stdout.strip()
            of_linux |= find(compiled_c(host, ["-DSLUICE_POSTGRESQL", *include], file, others))
            for platform in platforms:
                of_apple |= find(compiled_c(platform.target, [*c_options(platform, others), *include], file, others))
    missing = places - of_linux
    for place in sorted(missing - of_apple):
        print(f"{place}: no system of this check compiles this part")
    print(f"{len(missing & of_apple)} parts of C files are only for Apple's platforms")
    required = {place for place in missing - of_apple if "__APPLE__" in (ROOT / place.split(":")[0]).read_text().split("\n")[
        int(place.split(":")[1]) - 1] and "!" not in place}
    return [f"{place}: a mistake in this part isn't found" for place in sorted(required)]


# MARK: Mistakes in the arms of `#if`

# Modules that only Apple's platforms have.
OF_APPLE = {"AppKit", "CoreGraphics", "CoreText", "CryptoKit", "Darwin", "ImageIO", "SwiftUI", "UIKit"}
# Modules of this machine that Apple's platforms lack. Musl is the C library of other Linux systems, for which no check compiles.
OF_LINUX = {"Glibc", "Musl", "FoundationEssentials", "FoundationNetworking"}
FLAGS = {"DEBUG", "PostgreSQL"}


@dataclasses.dataclass(frozen=True)
class Arm:
    path: pathlib.Path
    line: int               # of the directive that begins it
    conditions: tuple[str, ...]

    def is_active(self, system: str, modules: set[str], flags: set[str]) -> bool:
        return all(holds(condition, system, modules, flags) for condition in self.conditions)

    @property
    def is_of_linux(self) -> bool:
        """Whether this machine compiles the arm. Its builds have every combination of our own flags."""
        conditions = [condition for condition in self.conditions if re.search(r"\b(os|canImport)\(", condition)]
        return all(holds(condition, "Linux", OF_LINUX - {"Musl"} | {"Dispatch"}, FLAGS | {"GdkPixbuf", "SLUICE_URLSESSION"})
                   for condition in conditions)

    @property
    def is_of_musl(self) -> bool:
        return self.conditions[-1].endswith("(canImport(Musl))")


def holds(condition: str, system: str, modules: set[str], flags: set[str]) -> bool:
    text = re.sub(r"\bos\((\w+)\)", lambda found: str(found[1] == system), condition)
    text = re.sub(r"\bcanImport\((\w+)\)", lambda found: str(found[1] in modules), text)
    text = re.sub(r"\b(?!True|False)[A-Za-z_]\w*\b", lambda found: str(found[0] in flags), text)
    return eval(text.replace("&&", " and ").replace("||", " or ").replace("!", " not "))


def arms(path: pathlib.Path) -> list[Arm]:
    """Returns the arms of a file, each with its conditions and the conditions of the arms around it."""
    found: list[Arm] = []
    open_arms: list[tuple[list[str], str]] = []     # for each #if: the conditions that were false before, and that of this arm
    for number, line in enumerate(path.read_text().split("\n"), 1):
        directive = re.match(r"\s*#(if|elseif|else|endif)\b(.*?)(//.*)?$", line)
        if not directive:
            continue
        word, condition = directive[1], f"({directive[2].strip()})"
        if word == "endif":
            open_arms.pop()
            continue
        if word == "if":
            open_arms.append(([], condition))
        else:
            before, last = open_arms.pop()
            open_arms.append(([*before, last], condition if word == "elseif" else "(True)"))
        found.append(Arm(path, number, tuple(part for before, own in open_arms for part in [*map("!{}".format, before), own])))
    return found


def with_mistakes(text: str, lines: set[int]) -> tuple[str, dict[int, int]]:
    """Inserts a mistake after each of these lines. Returns the text, and maps the line of each mistake to the line before it in the
    original."""
    result, places = [], {}
    for number, line in enumerate(text.split("\n"), 1):
        result.append(line)
        if number in lines:
            result.append(f'func mistake{number}OfTheSelfCheck() -> Int {{ "no number" }}')
            places[len(result)] = number
    return "\n".join(result), places


def check_mistakes(compiler: Compiler, module: str, wanted: set, more_flags: set[str] = set()) -> tuple[set, set]:
    """Inserts a mistake into each arm of a module that this platform compiles. Returns these arms, and the arms whose mistakes were
    found."""
    modules = OF_APPLE - {"AppKit", "UIKit"} | set(compiler.platform.kits) | {"Dispatch"}
    inserted, files, places = set(), [], {}
    for path in sources(module):
        chosen = [arm for arm in arms(path) if arm in wanted and arm.is_active(compiler.platform.name, modules, FLAGS | more_flags)]
        text, lines = with_mistakes(rewritten(path.read_text()), {arm.line for arm in chosen})
        files.append(written(compiler, "mistaken", path, text))
        inserted |= set(chosen)
        places |= {(str(path.relative_to(ROOT)), line): arm for line, number in lines.items() for arm in chosen if arm.line == number}
    if not inserted:
        return set(), set()
    output = compiler.typecheck(module, "-parse-as-library", *STRICT, *flags(FLAGS | more_flags), *files) or ""
    errors = {(path, int(line)) for path, line in re.findall(r"mistaken/(\S+?):(\d+):\d+: error: .*(?:Int|mistake)", output)}
    return inserted, {places[error] for error in errors if error in places}


def self_check(compilers: list[Compiler]) -> list[str]:
    wanted = {arm for module in [*LIBRARIES, *OF_MACOS, *OF_TESTS] for path in sources(module) for arm in arms(path)
              if not arm.is_of_linux and not arm.is_of_musl}
    tried, found = set(), set()
    # Each platform checks the arms that the platforms before it don't compile.
    for compiler in compilers:
        jobs = [(module, set()) for module in modules_of(compiler.platform)] + [("SluiceLock", {"SLUICE_PTHREAD_LOCK"})]
        for more_tried, more_found in side_by_side(lambda job: check_mistakes(compiler, job[0], wanted - tried, job[1]), jobs):
            tried |= more_tried
            found |= more_found
    name = lambda arm: f"{arm.path.relative_to(ROOT)}:{arm.line}"
    for arm in sorted(wanted - tried, key=name):
        print(f"{name(arm)}: no platform compiles this part")
    print(f"{len(found)} of {len(tried)} mistakes are found")
    return [f"{name(arm)}: a mistake in this part isn't found" for arm in sorted(tried - found, key=name)]


# MARK: All together


def side_by_side(body, values) -> list:
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(body, values))


def checked(compiler: Compiler) -> list[str]:
    emit_stubs(compiler)
    return check_modules(compiler) or check_app(compiler)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--self-check", action="store_true", help="insert mistakes, and fail if one is not found")
    arguments = parser.parse_args()
    if not (SCRATCH / "debug/Modules/GRDB.swiftmodule").exists():
        sys.exit(f"{SCRATCH} has no module GRDB. Run `swift build`, or name the directory of another build in SLUICE_SCRATCH.")
    ours = {path.name for path in [*(ROOT / "Sources").iterdir(), *(ROOT / "Tests").iterdir()]}
    all_platforms = platforms((ROOT / "Package.swift").read_text())
    with tempfile.TemporaryDirectory() as directory:
        compilers = [Compiler(platform, pathlib.Path(directory) / platform.name, ours) for platform in all_platforms]
        problems = [problem for some in side_by_side(checked, compilers) for problem in some]
        problems += check_c(all_platforms, arguments.self_check)
        if arguments.self_check and not problems:
            problems += self_check(compilers)
    names = ", ".join(f"{platform.name} {platform.version}" for platform in all_platforms)
    print("\n".join(problems) if problems else f"all modules compile for {names}, against stubs")
    return 1 if problems else 0


sys.exit(main())
