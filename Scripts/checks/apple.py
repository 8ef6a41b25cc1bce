#!/usr/bin/env python3
"""Type-checks the whole package for macOS, iOS, tvOS, watchOS and visionOS on a machine without Apple's SDKs.

    Scripts/checks/apple.py
    Scripts/checks/apple.py --self-check     # also inserts mistakes, and fails if one isn't found

The compiler compiles for Apple's platforms: it decides `os(…)` and `canImport(…)`, and refuses API that is newer than the platforms of the
manifest. Modules of Apple that Linux lacks are the stubs in Tests/AppleStubs. Their README says where the others come from, and what this
check doesn't prove. It needs a debug build (`swift build --traits PostgreSQL`) in `SLUICE_SCRATCH` for the modules of the dependencies.

Beside the modules, it checks the C targets, code of an app (Tests/AppleStubs/Use), the samples with `Apple` in their path or with views,
and the example app.

With `--self-check`, a mistake is inserted into each arm of each `#if` that Linux doesn't compile. Each must be found on at least one
platform. Arms that no platform compiles are listed.
"""
import argparse, concurrent.futures, pathlib, re, sys, tempfile
from apple_arms import FLAGS, OF_APPLE, arms, with_mistakes
from apple_c import check_c
from apple_platforms import Compiler, Platform, platforms
from builds import ROOT, SCRATCH
from documented import Documented, function

STUBS = ROOT / "Tests/AppleStubs"
FEATURES = ["NonisolatedNonsendingByDefault", "InferIsolatedConformances", "ExistentialAny", "InternalImportsByDefault",
            "MemberImportVisibility"]
STRICT = ["-swift-version", "6", "-warnings-as-errors", "-package-name", "sluice", "-enable-experimental-feature", "Lifetimes",
          *(word for feature in FEATURES for word in ("-enable-upcoming-feature", feature))]
STUB = ["-swift-version", "6", "-suppress-warnings"]
# The modules that every platform has, lowest layer first, and those of the command line.
LIBRARIES = ["SluiceLock", "SluiceConcurrency", "SluiceFiles", "NativeMark", "SluiceHTTP", "SluiceDatabase", "SluiceCache", "SluiceDownloads",
             "SluiceService"]
OF_MACOS = ["SluicePostgres", "LoopbackOrigin", "SluiceCommands", "sluice"]
# What the tests use, except files that import Testing: the toolchain has no compiled module of that.
OF_TESTS = {"TestSupport": "Tests/TestSupport", "ConcurrencyStress": "Tests/Stress", "FileWorker": "Tests/FileWorker",
            "CacheWorker": "Tests/CacheWorker", "MarkdownWorker": "Tests/MarkdownWorker",
            "SmallStack": "Tests/NativeMarkTests/Support/SmallStack.swift",
            "PseudoTerminal": "Tests/SluiceCommandsTests/Support/PseudoTerminal.swift"}
# The example that only Xcode builds.
EXAMPLE, EXAMPLE_PLATFORMS = ROOT / "Examples/AppleApp", ("macOS", "iOS")


def modules_of(platform: Platform) -> list[str]:
    return LIBRARIES + ([*OF_MACOS, *OF_TESTS] if platform.name == "macOS" else [])


def rewritten(text: str) -> str:
    """Returns a source file with the names of the stubs, line for line."""
    # The modules of Linux are there, because the dependencies need them.
    text = re.sub(r"\bcanImport\((Glibc|Musl|FoundationEssentials|FoundationNetworking)\)", "false", text)
    text = re.sub(r"^((?:\w+ )?import )(Glibc|Musl|FoundationEssentials|FoundationNetworking)$", r"\1\2OfLinux", text, flags=re.M)
    text = re.sub(r"^((?:\w+ )?import )(Foundation|Dispatch)$", r"\1Apple\2", text, flags=re.M)
    # A C module exports the parts of the C library that it includes.
    text = re.sub(r"^((?:\w+ )?import )(CSluiceFiles|CSluiceHTTP)$", r"\1\2; \1Darwin", text, flags=re.M)
    return re.sub(r"\bCSluiceFiles\.(?!csluice)", "Darwin.", text)


def sources(module: str) -> list[pathlib.Path]:
    path = ROOT / OF_TESTS.get(module, f"Sources/{module}")
    return [path] if path.is_file() else sorted(path.rglob("*.swift"))


def copied(compiler: Compiler, module: str) -> list[pathlib.Path]:
    return [written(compiler, "copy", path, rewritten(path.read_text())) for path in sources(module)]


def written(compiler: Compiler, kind: str, path: pathlib.Path, text: str) -> pathlib.Path:
    copy = compiler.directory / kind / path.relative_to(ROOT)
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_text(text)
    return copy


def flags(names: set[str]) -> list[str]:
    return [word for name in sorted(names) for word in ("-D", name)]


def emit_stubs(compiler: Compiler) -> None:
    more = {"AppKit": "TextAttributes.swift", "UIKit": "TextAttributes.swift", "SwiftUI": "SwiftUIApp.swift"}
    kits = {kit: [f"{kit}.swift", more[kit]] for kit in compiler.platform.kits}
    if compiler.platform.name == "watchOS":
        kits["UIKit"] = ["UIKitOfWatch.swift"]
    stubs = {"DarwinStructures": ["DarwinStructures.swift"],
             "Darwin": sorted(str(path.relative_to(STUBS)) for path in STUBS.glob("Darwin/*.swift")),
             "AppleFoundation": ["AppleFoundation.swift"], "AppleDispatch": ["AppleDispatch.swift"],
             "CoreGraphics": ["CoreGraphics.swift"], "ImageIO": ["ImageIO.swift"], "CryptoKit": ["CryptoKit.swift"], **kits}
    for module, files in stubs.items():
        # Except in the C library: an enumeration may get more cases later, so a switch needs @unknown default, and each declaration says
        # when it was introduced.
        strict = [] if module.startswith("Darwin") else ["-enable-library-evolution", "-require-explicit-availability=error"]
        if output := compiler.emit(module, *STUB, *strict, *(STUBS / file for file in files)):
            sys.exit(f"for {compiler.platform.name}, the stub of {module} does not compile:\n{output}")


def check_modules(compiler: Compiler) -> list[str]:
    for module in modules_of(compiler.platform):
        words = [*STRICT, *flags(FLAGS), *copied(compiler, module)]
        # Only what another module imports is emitted. That also finds mistakes in the flow of data.
        is_imported = module not in OF_TESTS or module == "TestSupport"
        if output := compiler.emit(module, *words) if is_imported else compiler.typecheck(module, "-parse-as-library", *words):
            return [f"for {compiler.platform.name}, {module} does not compile:\n{output}"]
    return []


def check_app(compiler: Compiler) -> list[str]:
    """Checks code that uses the modules: the declarations for a platform must be there."""
    name, kits = compiler.platform.name, compiler.platform.kits
    uses = [("Queue", ["Queue.swift"])]
    if name != "watchOS":
        uses.append(("Use", ["Common.swift", f"{kits[0]}.swift"]))
    problems = []
    for module, files in uses:
        if output := compiler.typecheck(module, "-parse-as-library", *STRICT, *(STUBS / "Use" / file for file in files)):
            problems.append(f"for {name}, an app does not compile:\n{output}")
    if len(uses) > 1:
        problems += check_samples(compiler, "AppKit" if "UIKit" in kits else "UIKit")
    if name in EXAMPLE_PLATFORMS:
        files = [written(compiler, "copy", path, rewritten(path.read_text())) for path in sorted(EXAMPLE.rglob("*.swift"))]
        if output := compiler.typecheck("Example", "-parse-as-library", *STRICT, *files):
            problems.append(f"for {name}, the example app does not compile:\n{output}")
    return problems


def check_samples(compiler: Compiler, other_kit: str) -> list[str]:
    """Checks the samples of the Apple files and articles, except those of the other kit, and the samples with views."""
    samples = []
    for path in sorted((ROOT / "Sources").rglob("*")):
        if path.suffix in (".swift", ".md") and not path.stem.endswith(f"+{other_kit}"):
            is_of_apple = "NativeMark" in path.parts and "Apple" in str(path.relative_to(ROOT))
            samples += [sample for sample in Documented(path).samples if is_of_apple or re.search(r": View \{", sample.code)]
    imports = ["AppleFoundation", "NativeMark", "SluiceConcurrency", "SluiceDownloads", "SwiftUI"]
    code = "".join(f"import {name}\n" for name in imports)
    code += "".join("@MainActor " + function(sample, f"sample{number}") for number, sample in enumerate(samples))
    (compiler.directory / "Samples.swift").write_text(code)
    output = compiler.typecheck("Samples", "-parse-as-library", "-swift-version", "6", "-enable-upcoming-feature",
                                "NonisolatedNonsendingByDefault", compiler.directory / "Samples.swift", STUBS / "Use/Queue.swift",
                                *(ROOT / f"Tests/Snippets/NativeMark/{name}.swift" for name in ("Common", "Apple")))
    if not samples:
        return ["There is no sample for Apple's platforms."]
    return [f"for {compiler.platform.name}, a sample does not compile:\n{output}"] if output else []


# MARK: Mistakes


def check_mistakes(compiler: Compiler, module: str, wanted: set, more_flags: set[str] = set()) -> tuple[set, set]:
    """Inserts a mistake into the arms of a module that this platform compiles, and returns those arms and those that were found."""
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
    # A platform checks the arms that those before it don't compile.
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
