#!/usr/bin/env python3
"""Proves that a module imports only the layers below it (ARCHITECTURE.md), that no module above SluiceFiles blocks a thread,
and that files of two targets are links.

    Scripts/checks/layers.py

SwiftPM finds an import that isn't among a target's dependencies, but not an import of an indirect dependency or of a module in the same
layer.
"""
import json, pathlib, re, subprocess, sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# The modules of this project that each layer may import.
ALLOWED = {
    "SluiceLock": "",
    "SluiceConcurrency": "SluiceLock",
    "NativeMark": "",
    "NativeMarkCairo": "SluiceLock NativeMark CPangoCairo",
    "SluiceFiles": "SluiceLock SluiceConcurrency CSluiceFiles",
    "SluiceHTTP": "SluiceLock SluiceConcurrency SluiceFiles CSluiceHTTP",
    "SluiceDatabase": "SluiceLock SluiceFiles",
    "SluiceCache": "SluiceLock SluiceConcurrency SluiceFiles SluiceHTTP SluiceDatabase CGdkPixbuf",
    "SluiceDownloads": "SluiceLock SluiceConcurrency SluiceFiles SluiceHTTP SluiceDatabase",
    "SluiceServer": "SluiceLock SluiceConcurrency SluiceFiles SluiceHTTP CSluiceFiles",
    "SluiceService": "SluiceLock SluiceConcurrency SluiceHTTP SluiceDownloads",
    "SluicePostgres": "SluiceLock SluiceConcurrency SluiceFiles SluiceHTTP SluiceDownloads CSluicePostgres",
    "LoopbackOrigin": "SluiceLock SluiceConcurrency SluiceFiles SluiceServer",
    "SluiceCommands": "SluiceLock SluiceConcurrency SluiceFiles SluiceHTTP SluiceCache SluiceDownloads SluiceServer SluiceService SluicePostgres NativeMark NativeMarkCairo LoopbackOrigin",
    "sluice": "SluiceCommands",
}
IMPORT = re.compile(r"^\s*(?:@[\w()]+ )*(?:\w+ )?import (?:(?:struct|class|enum|func|protocol|var|let|typealias) )?(\w+)", re.M)

# `FileHandle` is only in Foundation, and one file extends it. Apple's platforms have no FoundationEssentials, and use URLSession.
NEED_ALL_OF_FOUNDATION = {"Sources/SluiceFiles/Descriptors.swift", "Sources/SluiceHTTP/Transport/URLSession/URLSessionEngine.swift",
                          "Sources/NativeMarkCairo/PagesAhead.swift",
                          *(str(path.relative_to(ROOT)) for path in (ROOT / "Sources/NativeMark/Apple").glob("*.swift"))}

# Files that another target compiles too. An editor that replaces a link with a copy would leave one of them untested.
LINKS = ["Benchmarks/Sources/Benchmarks/Harness/Memory.swift", "Tests/FileWorker/Interception.swift",
         "Tests/URLSessionOnLinux/URLSessionEngine.swift"]

# Calls that block a thread on a file, a process or another thread. Only the lowest layers may make them.
BLOCKING = re.compile(
    r"\bFileManager\b|\bFileHandle\b|Data\(contentsOf:|String\(contentsOf|\.write\(to(File)?:|\bf?open\(|\bfopen\(|"
    r"\bfsync\(|\bstat\(|\brename\(|\bunlink\(|\bmkdir\(|\.wait\(\)|DispatchSemaphore|Thread\.sleep|\busleep\(|\breadLine\(")
# SluiceServer removes the file of an abandoned Unix socket while it begins to listen.
MAY_BLOCK = ("SluiceLock", "SluiceConcurrency", "SluiceFiles", "SluiceServer")
# Methods of our types that have the names of system calls.
OURS_SPELLED_ALIKE = re.compile(r"open\(at: |(files|partial|transport|self|stage|cache|downloader\.files|SluiceDatabase|DiskStore|PostgresConnection|UIApplication\.shared|NSWorkspace\.shared)\.(open|rename|stat)\(|downloads\.open\(\)|func open\(|condition\.wait\(\)|ended\.wait\(\)")
# SQLite calls its busy handler on the thread that waits for the lock, and that thread has to pause. It belongs to GRDB's queue, not to the
# cooperative pool.
MAY_PAUSE = {"Sources/SluiceDatabase/LockWait.swift"}

# ThreadSanitizer would report a race on everything that a Mutex protects.
MUTEX = re.compile(r"\bMutex\s*[<(]")


def lines_of(directory: pathlib.Path):
    """Yields the path, the place, and the text of each line of the Swift files, without comments."""
    for path in sorted(directory.rglob("*.swift")):
        name = str(path.relative_to(ROOT))
        for number, line in enumerate(path.read_text().splitlines(), 1):
            yield name, f"{name}:{number}", line.split("//", 1)[0]


def check_imports() -> list[str]:
    # Unlike `swift package describe`, this fetches no packages and doesn't wait for a running build.
    manifest = subprocess.run(["swift", "package", "dump-package"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    targets = {target["name"]: target for target in json.loads(manifest)["targets"]}
    problems = []
    for name, target in targets.items():
        named = {dependency.get("byName", dependency.get("target", [None]))[0] for dependency in target["dependencies"]} & set(targets)
        directory = ROOT / (target.get("path") or ("Tests/" if target["type"] == "test" else "Sources/") + name)
        if name in ALLOWED:
            problems += [f"Package.swift: {name} must not depend on {other}" for other in sorted(named - set(ALLOWED[name].split()))]
        for _, place, line in lines_of(directory):
            # A module may import itself, because another target also compiles one of its files.
            if (found := IMPORT.match(line)) and found[1] in set(targets) - named - {name}:
                problems.append(f"{place}: {name} imports {found[1]}, but its dependencies in Package.swift don't name it")
    layers = {name for name, target in targets.items() if target["type"] != "test" and not target.get("path") and not name.startswith("C")}
    return problems + [f"Scripts/checks/layers.py: the table has no row, or one too many, for {name}" for name in layers ^ set(ALLOWED)]


def check_lines(module: str) -> list[str]:
    problems, conditional = [], False
    for path, place, line in lines_of(ROOT / "Sources" / module):
        if line.startswith("#"):
            conditional = line.startswith("#else") or (conditional and not line.startswith("#endif"))
        imported = found[1] if (found := IMPORT.match(line)) else ""
        if imported == "Foundation" and not conditional and path not in NEED_ALL_OF_FOUNDATION:
            problems.append(f"{place}: import FoundationEssentials, and Foundation only where FoundationEssentials is missing")
        if imported.startswith("Foundation") and module == "SluiceConcurrency":
            problems.append(f"{place}: SluiceConcurrency must not import Foundation")
        if module != "SluiceLock" and MUTEX.search(line):
            problems.append(f"{place}: use Lock of SluiceLock, which ThreadSanitizer understands: {line.strip()}")
        if module not in MAY_BLOCK and path not in MAY_PAUSE and BLOCKING.search(OURS_SPELLED_ALIKE.sub("", line)):
            problems.append(f"{place}: blocks a thread; use SluiceFiles: {line.strip()}")
    return problems


problems = check_imports() + [problem for module in ALLOWED for problem in check_lines(module)]
for directory in (*(ROOT / "Tests").glob("*Tests"), ROOT / "Tests/Stress", ROOT / "Tests/TestSupport"):
    problems += [f"{place}: use Guarded of TestSupport, which ThreadSanitizer understands" for _, place, line in lines_of(directory)
                 if MUTEX.search(line)]
problems += [f"{path}: must be a symbolic link to the file that another target compiles" for path in LINKS if not (ROOT / path).is_symlink()]
print("\n".join(problems) if problems else "Every layer imports only the layers below it, and no layer above SluiceFiles blocks.")
sys.exit(1 if problems else 0)
