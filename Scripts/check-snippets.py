#!/usr/bin/env python3
"""Compiles code that is not part of any target, against the modules of a debug build (`swift build`).

    Scripts/check-snippets.py [--scratch FOLDER]
    SLUICE_ONLY=SluiceConcurrency Scripts/check-snippets.py --scratch .build-only

`--scratch` names the folder that was built into (`--scratch-path`), `.build` by default. `SLUICE_ONLY` leaves the snippets
and articles of one module, against a build that was made with it.

1. Tests/RefusedSnippets/<module>/*.swift must be refused, each for the reason that its first line names
   (`// refused: <part of the diagnostic>`), or compile (`// accepted`). Those of SluiceFiles: check-refusals.py.
2. Each Swift sample of the documents in SAMPLES must compile. A comment before a sample declares what the sample takes
   for granted:

       <!-- given: struct Song { … } -->
"""
import argparse, os, re, sys
from snippets import ROOT, compile_snippet

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--scratch", default=".build", metavar="FOLDER", help="the folder that was built into")
SCRATCH = ROOT / parser.parse_args().scratch
PRODUCTS = SCRATCH / "debug"
# The one module that was built, or none if all were.
ONLY = os.environ.get("SLUICE_ONLY")
# All articles of SluiceConcurrency, SluiceFiles and NativeMark that have a sample, and those of other modules that are named.
ARTICLES = [path for module in ("SluiceConcurrency", "SluiceFiles", "NativeMark")
            for path in sorted((ROOT / f"Sources/{module}/{module}.docc").glob("*.md"))]
SAMPLES = ["README.md", *(str(path.relative_to(ROOT)) for path in ARTICLES if "```swift" in path.read_text()),
           "Sources/SluiceCache/SluiceCache.docc/RequestPath.md",
           "Sources/SluiceDownloads/SluiceDownloads.docc/SluiceDownloads.md",
           "Sources/SluiceDownloads/SluiceDownloads.docc/TheQueue.md"]


def check_refused() -> list[str]:
    problems = []
    for path in sorted((ROOT / "Tests/RefusedSnippets").glob(f"{ONLY or '*'}/*.swift")):
        first, _, code = path.read_text().partition("\n")
        wanted = first.removeprefix("// refused: ") if first.startswith("// refused: ") else None
        output = compile_snippet(f"import FoundationEssentials\nimport {path.parent.name}\n{code}", SCRATCH)
        errors = "\n".join(line for line in (output or "").splitlines() if "error:" in line)
        name = path.relative_to(ROOT)
        if wanted is None and output:
            problems.append(f"{name}: should compile\n{output}")
        elif wanted is not None and output is None:
            problems.append(f"{name}: compiles, and should be refused: {wanted}")
        elif wanted is not None and wanted not in errors:
            problems.append(f"{name}: refused, but not because of: {wanted}\n{output}")
    return problems


def check_samples(document: str) -> list[str]:
    problems = []
    text = (ROOT / document).read_text()
    samples = re.findall(r"(?:<!-- given: (.*?) -->\s*)?```swift\n(.*?)```", text, re.DOTALL)
    modules = ["HTTPTypes", "SluiceConcurrency", "SluiceFiles", "SluiceHTTP", "SluiceCache", "SluiceDownloads", "NativeMark"]
    imports = "".join(f"import {module}\n" for module in ["FoundationEssentials", *([ONLY] if ONLY else modules)])
    for given, sample in samples:
        code = re.sub(r"^import .*\n", "", sample, flags=re.MULTILINE)
        output = compile_snippet(f"{imports}{given}\nfunc sample() async throws {{\n{code}\n}}\n", SCRATCH)
        if output:
            problems.append(f"{document}: this sample does not compile:\n{sample}\n{output}")
    if not samples:
        problems.append(f"{document}: there is no sample")
    return problems


if not (PRODUCTS / "Modules").exists():
    sys.exit(f"There is no debug build in {SCRATCH.name}: run `swift build` first.")
documents = [document for document in SAMPLES if ONLY is None or document.startswith(f"Sources/{ONLY}/")]
found = check_refused() + [problem for document in documents for problem in check_samples(document)]
print("\n".join(found) if found else "every snippet is refused or accepted as it should be")
sys.exit(1 if found else 0)
