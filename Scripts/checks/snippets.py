#!/usr/bin/env python3
"""Proves that the code outside of all targets compiles, or is refused, against the modules of a debug build (`swift build --build-tests`):

1. The samples of all articles: Markdown files in Sources, and other Markdown files with Swift code, such as README.md.
2. The samples of all doc comments in Sources.
3. Tests/Refusals: code that must not compile. Each file has a twin that must compile.
4. The benchmark rows of PostgreSQL, of drawing and of images. CI doesn't run them, because it would have to build the release again with the traits.

    Scripts/checks/snippets.py [--scratch DIRECTORY] [NAME ...]
    SLUICE_ONLY=SluiceFiles Scripts/checks/snippets.py --scratch .build-files use-after-close

`--scratch` or `SLUICE_SCRATCH` names the build directory (`--scratch-path`), `.build` by default. `SLUICE_ONLY` checks one module, against
a build that was made with it. A NAME selects the files with this text in their path. Except with `SLUICE_ONLY` or a NAME, nothing is
skipped, so the build must have the traits PostgreSQL, Cairo and GdkPixbuf.

Samples. Each becomes the body of an asynchronous throwing function. `…` stands for omitted code: the compiler sees a space. A warning is
an error, except a warning about an unused value. The declarations that a sample needs are

- in an article: in a comment before the sample, `<!-- given: struct Song { … } -->`, or in a link reference definition,
  `[given]: # 'struct Song { … }'`, which NativeMark doesn't show either
- for a doc comment: in Tests/Snippets/<Module>/Common.swift, in <Directory>.swift for the files in Sources/<Module>/<Directory>, and in
  <File>.swift for a file of this name. The samples have the module and the imports of these files.

A doc comment of a public declaration is compiled as in an application. The doc comment of any other declaration is compiled with a testable
import, and together with Internal.swift. Samples with `Apple` in their path need the stubs of Apple's frameworks: Scripts/checks/apple.py
compiles them.

Refusals. Each file in Tests/Refusals/<Module> is compiled twice:

1. As it is, the compiler must refuse it, and every error must match the regular expression of its first line, `// error: …`.
2. Its twin must compile: the same code without the lines that end in `// refused`, and with the code after `// instead:`. So a typo or a
   missing import in the file isn't mistaken for a refusal.
"""
import argparse, collections, concurrent.futures, os, pathlib, re, subprocess, sys, tempfile
from builds import modules_of_build
from documented import ROOT, Documented, Sample, function, located

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--scratch", default=os.environ.get("SLUICE_SCRATCH", ".build"), metavar="DIRECTORY",
                    help="the build directory")
parser.add_argument("names", nargs="*", metavar="NAME", help="part of a path; selects the files to check, all by default")
arguments = parser.parse_args()
SCRATCH = ROOT / arguments.scratch
PRODUCTS = SCRATCH / "debug"
# The only module in the build, or None for all modules.
ONLY = os.environ.get("SLUICE_ONLY")
# The modules that the build left empty or without images, because it doesn't have their traits. Each has a type by which to recognize that
# it has the trait.
EMPTY = {module for module, name in {"SluicePostgres": b"PostgresError", "NativeMarkCairo": b"CairoError", "SluiceCache": b"PlatformImage"}.items()
         if not any(name in path.read_bytes() for path in (PRODUCTS / "Modules").glob(f"{module}.swiftmodule"))}
# The modules with public declarations.
LIBRARIES = sorted({path.parts[len(ROOT.parts) + 1] for path in (ROOT / "Sources").rglob("*.swift")
                    if re.search(r"^ *(@\S+ )*public (?!import)", path.read_text(), re.MULTILINE)})

# Compiles to SIL, because ownership ("used after consume") is checked after the types. One process for all files.
COMPILER = ["swiftc", "-emit-sil", "-wmo", "-o", "/dev/null", "-parse-as-library", "-diagnostic-style=llvm",
            "-swift-version", "6", "-enable-upcoming-feature", "NonisolatedNonsendingByDefault", *modules_of_build(SCRATCH)]
# The rows that only a build with the trait has, the files that they use, and the features of Benchmarks/Package.swift.
ROWS = [path for pattern in ["Rows/Postgres/*", "Rows/Downloads/StoreRows*", "Rows/Downloads/PageRows*", "Rows/Drawing/*", "Rows/Images/*", "Rows/Markdown/*", "Harness/*",
                             "External/Children*", "External/Programs*", "External/Python*", "External/Stage*"] for path in sorted((ROOT / "Benchmarks/Sources/Benchmarks").glob(pattern))]
FEATURES = ["NonisolatedNonsendingByDefault", "InferIsolatedConformances", "ExistentialAny", "InternalImportsByDefault",
            "MemberImportVisibility"]
# Warnings that a sample may cause: an unused value, and the same file name as another file.
HARMLESS = re.compile(r".* warning: .*(never used|never read|never mutated|is unused|#fileID)")


def compiled(code: str, *files: pathlib.Path) -> tuple[bool, str]:
    """Returns whether the code compiles together with the files, and the output of the compiler."""
    with tempfile.TemporaryDirectory() as directory:
        source = pathlib.Path(directory) / "snippet.swift"
        source.write_text(code)
        result = subprocess.run([*COMPILER, str(source), *map(str, files)], capture_output=True, text=True, cwd=ROOT)
        return result.returncode == 0, result.stdout + result.stderr


def complaint(code: str, *files: pathlib.Path) -> str:
    """Returns the problems in samples, or an empty string."""
    accepted, output = compiled(code, *files)
    diagnostics = re.split(r"^(?=\S+:\d+:\d+: (?:error|warning): )", output, flags=re.MULTILINE)
    wrong = "".join(text for text in diagnostics if not HARMLESS.match(text)).rstrip()
    return wrong if accepted else wrong or output or "The compiler failed without a message."


# Each function below makes the jobs of one kind. A job is a function that returns problems.

def of_article(document: Documented) -> list:
    modules = [module for module in ["HTTPTypes", *LIBRARIES] if not ONLY or (PRODUCTS / f"Modules/{module}.swiftmodule").exists()]
    imports = "".join(f"import {module}\n" for module in ["FoundationEssentials", *modules])

    def check(sample: Sample) -> list[str]:
        given = located(sample.given, sample.path, sample.line - sample.given.count("\n") - 2)
        output = complaint(imports + given + function(sample, "sample"))
        return [f"{sample.path}:{sample.line}: this sample does not compile\n{output}"] if output else []

    return [lambda sample=sample: check(sample) for sample in document.samples if "import SwiftUI" not in sample.code]


def preludes(path: str, is_public: bool) -> tuple[pathlib.Path, ...]:
    """Returns the files with declarations for the doc comments of a file."""
    _, module, *directories, file = pathlib.Path(path).parts
    names = dict.fromkeys(["Common", *directories[:1], pathlib.Path(file).stem, *([] if is_public else ["Internal"])])
    return tuple(path for name in names if (path := ROOT / f"Tests/Snippets/{module}/{name}.swift").exists())


def of_doc_comments(documents: list[Documented]) -> list:
    groups = collections.defaultdict(list)
    for document in documents:
        module = pathlib.Path(document.path).parts[1]
        for sample in document.samples:
            groups[module, preludes(document.path, sample.is_public), sample.is_public].append(sample)

    def check(module: str, files: tuple[pathlib.Path, ...], is_public: bool, samples: list[Sample]) -> list[str]:
        texts = "".join(path.read_text() for path in files)
        if is_public and "@testable" in texts:
            return [f"Tests/Snippets/{module}: only Internal.swift may have a testable import"]
        imports = {f"import {module}\n" if is_public else f"@testable import {module}\n"}
        header = "".join(sorted(imports.union(re.findall(r"^(?:@testable )?import .*\n", texts, re.MULTILINE))))
        group = complaint(header + "".join(function(sample, f"sample{n}") for n, sample in enumerate(samples)), *files)
        if not group or re.search(r"^\S*Tests/Snippets/\S+: error:", group, re.MULTILINE):
            return [group] if group else []
        # One at a time: errors in one sample hide errors in others that the compiler finds in a later phase.
        single = [(sample, complaint(header + function(sample, "sample"), *files)) for sample in samples]
        return [f"{sample.path}:{sample.line}: this sample does not compile\n{output}" for sample, output in single if output] or [group]

    used = {path for _, files, _ in groups for path in files}
    unused = [] if arguments.names else [path for path in chosen((ROOT / "Tests/Snippets").rglob("*.swift"))
                                            if path not in used and path.stem != "Apple"]
    return [lambda: [f"{path.relative_to(ROOT)}: no sample uses this file" for path in unused],
            *(lambda key=key, samples=samples: check(*key, samples) for key, samples in groups.items())]


def of_refusal(path: pathlib.Path) -> list:
    name = str(path.relative_to(ROOT))
    first, _, code = path.read_text().partition("\n")
    imports = f"import FoundationEssentials\nimport {path.parent.name}\n"

    def refused() -> list[str]:
        if not first.startswith("// error: "):
            return [f"{name}: the first line is not `// error: <regular expression>`"]
        wanted = first.removeprefix("// error: ")
        accepted, output = compiled(imports + located(code, name, 2))
        errors = re.findall(r"^\S+?:\d+:\d+: error: (.*)$", output, re.MULTILINE)
        if accepted:
            return [f"{name}: compiles, but the compiler should refuse it: {wanted}"]
        if not errors or not all(re.search(wanted, error) for error in errors):
            return [f"{name}: refused, but with other errors than: {wanted}\n{output}"]
        return []

    def twin() -> list[str]:
        lines = ["" if line.rstrip().endswith("// refused") else re.sub(r"^(\s*)// instead: ", r"\1", line)
                 for line in code.splitlines()]
        if lines == code.splitlines():
            return [f"{name}: has no twin: neither a line that ends in `// refused` nor one with `// instead:`"]
        accepted, output = compiled(imports + located("\n".join(lines), name, 2))
        return [] if accepted else [f"{name}: its twin does not compile\n{output}"]

    return [refused, twin]


def of_rows(files: list[pathlib.Path]) -> list:
    def check() -> list[str]:
        features = [word for feature in FEATURES for word in ("-enable-upcoming-feature", feature)]
        result = subprocess.run(["swiftc", "-typecheck", "-parse-as-library", "-swift-version", "6", *features, *modules_of_build(SCRATCH),
                                 *(word for peer in ("MD4CPeer", "PixbufPeer")
                                   for word in ("-Xcc", f"-fmodule-map-file={ROOT}/Benchmarks/Sources/{peer}/include/module.modulemap")),
                                 *map(str, files)], capture_output=True, text=True, cwd=ROOT)
        return [f"the benchmark rows of a trait do not compile\n{result.stdout}{result.stderr}"] if result.returncode else []

    return [check]


def chosen(paths) -> list[pathlib.Path]:
    """Returns the paths that the arguments select, in order."""
    names = {path: path.relative_to(ROOT) for path in paths}
    return sorted(path for path, name in names.items() if (not ONLY or ONLY in name.parts) and not EMPTY & {*name.parts}
                  and (not arguments.names or any(part in str(name) for part in arguments.names)))


def articles():
    """Returns all Markdown files in Sources, and other Markdown files with Swift code outside hidden directories."""
    for directory, directories, files in os.walk(ROOT):
        directories[:] = [name for name in directories if not name.startswith(".")]
        for path in (pathlib.Path(directory, name) for name in files if name.endswith(".md")):
            if ROOT / "Sources" in path.parents or "```swift" in path.read_text():
                yield path


if not (PRODUCTS / "Modules").exists():
    sys.exit(f"There is no debug build in {SCRATCH.name}: run `swift build --build-tests` first.")
documents = {"articles": [Documented(path) for path in chosen(articles())],
             "doc comments": [Documented(path) for path in chosen((ROOT / "Sources").rglob("*.swift"))]}
refusals = chosen((ROOT / "Tests/Refusals").rglob("*.swift"))

# The number of samples by module (outside Sources, by article), and by column of the table.
COLUMNS = ["articles", "doc comments", "internal", "refusals", "Apple"]
counts: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
others, problems = 0, []
for kind, group in documents.items():
    for document in group:
        place = document.path.split("/")[1] if document.path.startswith("Sources/") else document.path
        others += document.others
        problems += document.problems
        for sample in document.samples:
            counts[place]["Apple" if "Apple" in document.path else kind if sample.is_public else "internal"] += 1
for path in refusals:
    counts[path.parent.name]["refusals"] += 1

here = {kind: [document for document in group if "Apple" not in document.path] for kind, group in documents.items()}
jobs = [job for document in here["articles"] for job in of_article(document)] + of_doc_comments(here["doc comments"])
jobs += [job for path in refusals for job in of_refusal(path)]
rows = [] if ONLY or EMPTY else chosen(ROWS)
jobs += of_rows(ROWS) if rows else []
if EMPTY and not ONLY and not arguments.names:
    problems.append(f"{' and '.join(sorted(EMPTY))}: this build lacks their traits, so the samples and the benchmark rows can't be checked. Build "
                    "again with `--traits PostgreSQL,Cairo,GdkPixbuf`.")
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
    problems += [problem for found in workers.map(lambda job: job(), jobs) for problem in found]

print(f"{'':18}" + "".join(f"{column:>14}" for column in COLUMNS))
for place, count in sorted(counts.items()):
    print(f"{place:18}" + "".join(f"{count[column] or '-':>14}" for column in COLUMNS))
print(f"{others} blocks in other languages are not compiled. Scripts/checks/apple.py checks the samples with Apple's frameworks.")
if not counts and not rows:
    problems.append("There is nothing to check.")
elif not arguments.names:
    problems += [f"{module}: there are no samples in {kind}" for module in ([ONLY] if ONLY else LIBRARIES)
                 for kind in ("articles", "doc comments") if not counts[module][kind]]
    problems += [] if ONLY or refusals else ["Tests/Refusals: there are no refusals"]
    problems += [] if ONLY or EMPTY or rows else ["Benchmarks: there are no rows of a trait"]
print("\n".join(problems) if problems else "All samples compile, all refusals are refused, and their twins compile.")
sys.exit(1 if problems else 0)
