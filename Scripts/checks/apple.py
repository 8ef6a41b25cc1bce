#!/usr/bin/env python3
"""Type-checks NativeMark with its Apple parts, on a machine without any SDK of Apple's: against the stubs in Tests/AppleStubs, once
with UIKit and SwiftUI, once with AppKit and SwiftUI.

    Scripts/checks/apple.py
    Scripts/checks/apple.py --self-check     # also puts a mistake into every Apple file, and wants each to be found

Then code of an app (Tests/AppleStubs/Use) is checked against the module that came out, so that Apple parts that were not compiled
at all are an error, and with it the samples that have `Apple` in their path: Scripts/checks/snippets.py checks all others. Takes
some seconds, and no network.

The sources are copied, and in the copy `Foundation` is that of the stubs and FoundationEssentials is missing, as it is there.

What this does not prove: that the stubs are right (they are written from Apple's documentation), availability (there is no
`@available` in the stubs), what is behind `#if os(…)`, which is that of the machine, that a class is right for Objective-C, and
anything at all about what the code does: nothing is run.
"""
import argparse, pathlib, re, subprocess, sys, tempfile
from documented import Documented, function

ROOT = pathlib.Path(__file__).resolve().parents[2]
STUBS = ROOT / "Tests/AppleStubs"
FEATURES = ["NonisolatedNonsendingByDefault", "InferIsolatedConformances", "ExistentialAny", "InternalImportsByDefault",
            "MemberImportVisibility"]
STRICT = ["-swift-version", "6", "-warnings-as-errors", "-package-name", "sluice",
          *(word for feature in FEATURES for word in ("-enable-upcoming-feature", feature))]
# As on an Apple platform, an enumeration of a stub may have more cases one day: a switch needs @unknown default.
STUB = ["-swift-version", "6", "-suppress-warnings", "-enable-library-evolution"]
OTHER = {"UIKit": "AppKit", "AppKit": "UIKit"}
MISTAKE = '\nprivate let mistakeOfTheSelfCheck: Int = "no number"\n'


def swiftc(*words: object) -> str | None:
    """The compiler's output if it refuses, or None."""
    result = subprocess.run(["swiftc", *map(str, words)], capture_output=True, text=True)
    return None if result.returncode == 0 else result.stdout + result.stderr


def stub(folder: pathlib.Path, module: str, *files: str) -> None:
    output = swiftc("-emit-module", "-parse-as-library", "-module-name", module, "-o", folder / f"{module}.swiftmodule",
                    "-I", folder, *STUB, *(STUBS / file for file in files))
    if output:
        sys.exit(f"the stub of {module} does not compile:\n{output}")


def copied(folder: pathlib.Path, mistaken: bool = False) -> list[pathlib.Path]:
    """The sources with the names of the stubs in place of Foundation's, line for line."""
    files = []
    for path in sorted((ROOT / "Sources/NativeMark").rglob("*.swift")):
        text = re.sub(r"^((?:\w+ )?import )Foundation$", r"\1AppleFoundation", path.read_text(), flags=re.MULTILINE)
        text = text.replace("canImport(FoundationEssentials)", "canImport(NoFoundationEssentials)")
        if mistaken and path.parent.name == "Apple":
            # In front of the last #endif: found only if what is before it is compiled.
            text = text.rsplit("#endif", 1)[0] + MISTAKE + "#endif\n"
        files.append(folder / path.relative_to(ROOT))
        files[-1].parent.mkdir(parents=True, exist_ok=True)
        files[-1].write_text(text)
    return files


def check_samples(kit: str, folder: pathlib.Path) -> list[str]:
    """The samples of the Apple files and articles, but for those of the other kit."""
    documents = [Documented(path) for path in sorted((ROOT / "Sources").rglob("*")) if path.suffix in (".swift", ".md")
                 and "Apple" in str(path.relative_to(ROOT)) and not path.stem.endswith(f"+{OTHER[kit]}")]
    samples = [sample for document in documents for sample in document.samples]
    code = "import AppleFoundation\nimport NativeMark\nimport SwiftUI\n"
    code += "".join("@MainActor " + function(sample, f"sample{number}") for number, sample in enumerate(samples))
    (folder / "Samples.swift").write_text(code)
    output = swiftc("-typecheck", "-parse-as-library", "-module-name", "Samples", "-I", folder, "-swift-version", "6",
                    "-enable-upcoming-feature", "NonisolatedNonsendingByDefault", folder / "Samples.swift",
                    *(ROOT / f"Tests/Snippets/NativeMark/{name}.swift" for name in ("Common", "Apple")))
    if not samples:
        return ["There is no sample for Apple's platforms."]
    print(f"with {kit}, {len(samples)} samples are checked")
    return [f"with {kit}, a sample does not compile:\n{output}"] if output else []


def check(kit: str, folder: pathlib.Path, self_check: bool) -> list[str]:
    stub(folder, "Darwin", "Darwin.swift")
    stub(folder, "AppleFoundation", "AppleFoundation.swift")
    stub(folder, "SwiftUI", "SwiftUI.swift")
    stub(folder, kit, f"{kit}.swift", "TextAttributes.swift")
    module = ["-emit-module", "-wmo", "-parse-as-library", "-module-name", "NativeMark", "-o", folder / "NativeMark.swiftmodule",
              "-I", folder, *STRICT]
    output = swiftc(*module, *copied(folder / "copy"))
    if output:
        return [f"with {kit}, NativeMark does not compile:\n{output.replace(str(folder / 'copy') + '/', '')}"]
    output = swiftc("-typecheck", "-parse-as-library", "-module-name", "Use", "-I", folder, *STRICT,
                    STUBS / "Use/Common.swift", STUBS / f"Use/{kit}.swift")
    problems = [f"with {kit}, an app does not compile against NativeMark:\n{output}"] if output else []
    problems += check_samples(kit, folder)
    if self_check:
        files = copied(folder / "mistaken", mistaken=True)
        output = swiftc("-typecheck", *module[1:5], "-I", folder, *STRICT, *files) or ""
        for path in files:
            if path.parent.name != "Apple" or path.stem.endswith(f"+{OTHER[kit]}"):
                continue
            if not re.search(re.escape(str(path)) + r":\d+:\d+: error: .*Int", output):
                problems.append(f"with {kit}, a mistake in {path.name} is not found: it is not compiled\n{output}")
    return problems


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--self-check", action="store_true", help="put mistakes in, and want them found")
arguments = parser.parse_args()
found = []
for kit in OTHER:
    with tempfile.TemporaryDirectory() as folder:
        found += check(kit, pathlib.Path(folder), arguments.self_check)
print("\n".join(found) if found else "NativeMark compiles with UIKit and SwiftUI, and with AppKit and SwiftUI, against stubs")
sys.exit(1 if found else 0)
