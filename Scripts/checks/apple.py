#!/usr/bin/env python3
"""Type-checks NativeMark, SluiceObservation and SluiceDownloadList with their code for Apple's platforms, and the files of SluiceCache that
are only for them, on a machine without Apple's SDKs: against the stubs in Tests/AppleStubs. NativeMark is checked once with UIKit and SwiftUI, once with AppKit and SwiftUI.

    Scripts/checks/apple.py
    Scripts/checks/apple.py --self-check     # also inserts a mistake into every Apple file, and fails if one isn't found

Then the code of an app (Tests/AppleStubs/Use) is checked against the resulting modules, so that an Apple file that wasn't compiled is an
error. The samples with `Apple` in their path are checked too; Scripts/checks/snippets.py checks all others. So are the samples with views
of the queue, which snippets.py compiles without SwiftUI. Takes some seconds, and no network.

SluiceDownloads, which SluiceDownloadList imports, comes from the debug build (`swift build`) in `SLUICE_SCRATCH`: this check doesn't cover
its code for Apple's platforms, nor that of SluiceFiles and SluiceHTTP. Stubs of their system calls would prove little.

The sources are copied. In the copy, `Foundation` is the stub, and FoundationEssentials is missing, as on Apple's platforms.

This check doesn't prove that the stubs are right (they are written from Apple's documentation). It doesn't check availability (the stubs
have no `@available`), code behind `#if os(…)` for other systems than this one, or the rules of Objective-C for classes. It runs no code,
so it proves nothing about behavior.
"""
import argparse, pathlib, re, subprocess, sys, tempfile
from builds import SCRATCH, modules_of_build
from documented import Documented, function

ROOT = pathlib.Path(__file__).resolve().parents[2]
STUBS = ROOT / "Tests/AppleStubs"
FEATURES = ["NonisolatedNonsendingByDefault", "InferIsolatedConformances", "ExistentialAny", "InternalImportsByDefault",
            "MemberImportVisibility"]
# As SwiftPM names it: by the directory, so that `package` declarations of modules of the build are visible.
PACKAGE = re.sub(r"\W", "_", ROOT.name.lower())
STRICT = ["-swift-version", "6", "-warnings-as-errors", "-package-name", PACKAGE,
          *(word for feature in FEATURES for word in ("-enable-upcoming-feature", feature))]
# As on an Apple platform, an enumeration of a stub may get more cases later: a switch needs @unknown default.
STUB = ["-swift-version", "6", "-suppress-warnings", "-enable-library-evolution"]
# The modules with which an app shows a queue, lowest layer first.
QUEUE = ["SluiceObservation", "SluiceDownloadList"]
# The files of SluiceCache that are only for Apple's platforms.
CACHE = ["Decoded/PlatformImage.swift", "Memory/MemoryPressureSource.swift"]
OTHER = {"UIKit": "AppKit", "AppKit": "UIKit"}
MISTAKE = '\nprivate let mistakeOfTheSelfCheck: Int = "no number"\n'


def swiftc(*words: object) -> str | None:
    """Returns the output of the compiler if it fails, or None."""
    result = subprocess.run(["swiftc", *map(str, words)], capture_output=True, text=True)
    return None if result.returncode == 0 else result.stdout + result.stderr


def stub(directory: pathlib.Path, module: str, *files: str) -> None:
    output = swiftc("-emit-module", "-parse-as-library", "-module-name", module, "-o", directory / f"{module}.swiftmodule",
                    "-I", directory, *STUB, *(STUBS / file for file in files))
    if output:
        sys.exit(f"the stub of {module} does not compile:\n{output}")


def copied(directory: pathlib.Path, module: str = "NativeMark", mistaken: bool = False) -> list[pathlib.Path]:
    """Copies the sources, with the names of the stubs instead of Foundation, line for line."""
    files = []
    for path in sorted((ROOT / "Sources" / module).rglob("*.swift")):
        text = re.sub(r"^((?:\w+ )?import )Foundation$", r"\1AppleFoundation", path.read_text(), flags=re.MULTILINE)
        text = text.replace("canImport(FoundationEssentials)", "canImport(NoFoundationEssentials)")
        if mistaken and path.parent.name == "Apple":
            # Before the last #endif: the mistake is found only if the code before it is compiled.
            text = text.rsplit("#endif", 1)[0] + MISTAKE + "#endif\n"
        elif mistaken and module in QUEUE:
            text = text.replace("\nimport Darwin\n", "\nimport Darwin" + MISTAKE)
        files.append(directory / path.relative_to(ROOT))
        files[-1].parent.mkdir(parents=True, exist_ok=True)
        files[-1].write_text(text)
    return files


def check_samples(kit: str, directory: pathlib.Path) -> list[str]:
    """Checks the samples of the Apple files and articles, except those of the other kit."""
    documents = [Documented(path) for path in sorted((ROOT / "Sources").rglob("*")) if path.suffix in (".swift", ".md")
                 and "Apple" in str(path.relative_to(ROOT)) and not path.stem.endswith(f"+{OTHER[kit]}")]
    samples = [sample for document in documents for sample in document.samples]
    code = "import AppleFoundation\nimport NativeMark\nimport SwiftUI\n"
    code += "".join("@MainActor " + function(sample, f"sample{number}") for number, sample in enumerate(samples))
    (directory / "Samples.swift").write_text(code)
    output = swiftc("-typecheck", "-parse-as-library", "-module-name", "Samples", "-I", directory, "-swift-version", "6",
                    "-enable-upcoming-feature", "NonisolatedNonsendingByDefault", directory / "Samples.swift",
                    *(ROOT / f"Tests/Snippets/NativeMark/{name}.swift" for name in ("Common", "Apple")))
    if not samples:
        return ["There is no sample for Apple's platforms."]
    print(f"with {kit}, {len(samples)} samples are checked")
    return [f"with {kit}, a sample does not compile:\n{output}"] if output else []


def check(kit: str, directory: pathlib.Path, self_check: bool) -> list[str]:
    stub(directory, "Darwin", "Darwin.swift")
    stub(directory, "AppleFoundation", "AppleFoundation.swift")
    stub(directory, "SwiftUI", "SwiftUI.swift")
    stub(directory, kit, f"{kit}.swift", "TextAttributes.swift")
    module = ["-emit-module", "-wmo", "-parse-as-library", "-module-name", "NativeMark", "-o", directory / "NativeMark.swiftmodule",
              "-I", directory, *STRICT]
    output = swiftc(*module, *copied(directory / "copy"))
    if output:
        return [f"with {kit}, NativeMark does not compile:\n{output.replace(str(directory / 'copy') + '/', '')}"]
    output = swiftc("-typecheck", "-parse-as-library", "-module-name", "Use", "-I", directory, *STRICT,
                    STUBS / "Use/Common.swift", STUBS / f"Use/{kit}.swift")
    problems = [f"with {kit}, an app does not compile against NativeMark:\n{output}"] if output else []
    problems += check_samples(kit, directory)
    if self_check:
        files = copied(directory / "mistaken", mistaken=True)
        output = swiftc("-typecheck", *module[1:5], "-I", directory, *STRICT, *files) or ""
        for path in files:
            if path.parent.name != "Apple" or path.stem.endswith(f"+{OTHER[kit]}"):
                continue
            if not re.search(re.escape(str(path)) + r":\d+:\d+: error: .*Int", output):
                problems.append(f"with {kit}, a mistake in {path.name} is not found: it is not compiled\n{output}")
    return problems


def check_queue(directory: pathlib.Path, self_check: bool) -> list[str]:
    """Checks the modules with which an app shows a queue."""
    if not (SCRATCH / "debug/Modules/SluiceDownloads.swiftmodule").exists():
        sys.exit(f"{SCRATCH} has no module SluiceDownloads. Run `swift build`, or name the directory of another build in "
                 "SLUICE_SCRATCH.")
    stub(directory, "Darwin", "Darwin.swift")
    stub(directory, "AppleFoundation", "AppleFoundation.swift")
    stub(directory, "SwiftUI", "SwiftUI.swift")
    # Our own modules before those of the build.
    modules = ["-I", directory, *modules_of_build()]
    for name in QUEUE:
        output = swiftc("-emit-module", "-wmo", "-parse-as-library", "-module-name", name, "-o", directory / f"{name}.swiftmodule",
                        *modules, *STRICT, *copied(directory / "copy", name))
        if output:
            return [f"{name} does not compile:\n{output.replace(str(directory / 'copy') + '/', '')}"]

    samples = [sample for name in QUEUE for path in sorted((ROOT / "Sources" / name).rglob("*")) if path.suffix in (".swift", ".md")
               for sample in Documented(path).samples if re.search(r": View \{", sample.code)]
    code = "import AppleFoundation\nimport SluiceDownloads\nimport SwiftUI\n" + "".join(f"import {name}\n" for name in QUEUE)
    code += "".join("@MainActor " + function(sample, f"sample{number}") for number, sample in enumerate(samples))
    (directory / "Samples.swift").write_text(code)
    output = swiftc("-typecheck", "-parse-as-library", "-module-name", "Samples", *modules, "-swift-version", "6",
                    "-enable-upcoming-feature", "NonisolatedNonsendingByDefault", directory / "Samples.swift", STUBS / "Use/Queue.swift")
    problems = [f"a view of the queue does not compile with SwiftUI:\n{output}"] if output else []
    print(f"with SwiftUI, {len(samples)} samples with views of the queue are checked")
    if not samples:
        problems.append("There is no sample with a view of the queue.")
    if self_check:
        files = copied(directory / "mistaken", "SluiceDownloadList", mistaken=True)
        output = swiftc("-typecheck", "-parse-as-library", "-module-name", "SluiceDownloadList", *modules, *STRICT, *files) or ""
        if not re.search(r"TransferMeter\.swift:\d+:\d+: error: .*Int", output):
            problems.append(f"a mistake in SluiceDownloadList's code for Apple is not found: it is not compiled\n{output}")
    return problems


def check_cache(directory: pathlib.Path, self_check: bool) -> list[str]:
    """Checks the cache's files for Apple's platforms, as parts of a module beside the cache."""
    stub(directory, "Darwin", "Darwin.swift")
    stub(directory, "AppleDispatch", "AppleDispatch.swift")
    stub(directory, "CoreGraphics", "CoreGraphics.swift")
    stub(directory, "ImageIO", "ImageIO.swift")
    problems = []
    for name in CACHE:
        for mistake in ("", MISTAKE) if self_check else ("",):
            text = (ROOT / "Sources/SluiceCache" / name).read_text().replace("import Dispatch\n", "import AppleDispatch\n")
            copy = directory / pathlib.Path(name).name
            access = "public " if "\nextension ResourceCache" in text else ""
            # Before the last #endif, which ends the code for Apple's platforms.
            copy.write_text(text.rsplit("#endif", 1)[0] + f"{mistake}@testable {access}import SluiceCache\n#endif\n")
            output = swiftc("-typecheck", "-parse-as-library", "-module-name", "Use", "-I", directory, *modules_of_build(), *STRICT, copy)
            if output and not mistake:
                problems.append(f"{name} does not compile:\n{output}")
            elif mistake and not re.search(r": error: .*Int", output or ""):
                problems.append(f"a mistake in {name} is not found: it is not compiled\n{output}")
    return problems


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--self-check", action="store_true", help="insert mistakes, and fail if one is not found")
arguments = parser.parse_args()
found = []
for kit in OTHER:
    with tempfile.TemporaryDirectory() as directory:
        found += check(kit, pathlib.Path(directory), arguments.self_check)
with tempfile.TemporaryDirectory() as directory:
    found += check_queue(pathlib.Path(directory), arguments.self_check)
with tempfile.TemporaryDirectory() as directory:
    found += check_cache(pathlib.Path(directory), arguments.self_check)
print("\n".join(found) if found else f"NativeMark compiles with UIKit and SwiftUI, and with AppKit and SwiftUI, against stubs; "
      f"{' and '.join(QUEUE)} compile with SwiftUI; the files of SluiceCache for Apple's platforms compile")
sys.exit(1 if found else 0)
