#!/usr/bin/env python3
"""Fails if a module imports a module of a higher layer, if code above SluiceFiles calls a blocking function, or if the manifest doesn't name
an import of a target. See ARCHITECTURE.md."""
import json, pathlib, re, subprocess, sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# The modules of ours that a module may import: the layers below it. (SwiftPM lets a target import any module that is built.)
MAY_IMPORT = {
    "SluiceLock": set(),
    "SluiceConcurrency": {"SluiceLock"},
    "NativeMark": set(),
    "SluiceFiles": {"SluiceLock", "SluiceConcurrency", "CSluiceFiles"},
    "SluiceHTTP": {"SluiceLock", "SluiceConcurrency", "SluiceFiles", "CSluiceHTTP"},
    "SluiceDatabase": {"SluiceLock", "SluiceFiles"},
    "SluiceCache": {"SluiceLock", "SluiceConcurrency", "SluiceFiles", "SluiceHTTP", "SluiceDatabase"},
    "SluiceDownloads": {"SluiceLock", "SluiceConcurrency", "SluiceFiles", "SluiceHTTP", "SluiceDatabase"},
    "SluiceService": {"SluiceLock", "SluiceHTTP", "SluiceDownloads"},
    "SluicePostgres": {"SluiceLock", "SluiceConcurrency", "SluiceFiles", "SluiceDownloads", "CSluicePostgres"},
    "LoopbackOrigin": {"SluiceLock", "SluiceConcurrency", "SluiceFiles", "CSluiceFiles"},
    "SluiceCommands": {"SluiceLock", "SluiceConcurrency", "SluiceFiles", "SluiceHTTP", "SluiceCache", "SluiceDownloads",
                       "SluicePostgres", "NativeMark", "LoopbackOrigin"},
    "sluice": {"SluiceCommands"},
}
OURS = set(MAY_IMPORT) | {"CSluiceFiles", "CSluiceHTTP", "CSluicePostgres"}
# Calls that block a thread on a file, a process or another thread. Only SluiceFiles may make them.
BLOCKING = re.compile(
    r"\bFileManager\b|\bFileHandle\b|Data\(contentsOf:|String\(contentsOf|\.write\(to(File)?:|\bf?open\(|\bfopen\(|"
    r"\bfsync\(|\bstat\(|\brename\(|\bunlink\(|\bmkdir\(|\.wait\(\)|DispatchSemaphore|Thread\.sleep|\busleep\(|\breadLine\(")
# Methods of our types with the names of system calls.
OURS_SPELLED_ALIKE = re.compile(r"open\(at: |(files|partial|transport|self|downloader\.files|SluiceDatabase|DiskStore|PostgresConnection)\.(open|rename|stat)\(|downloads\.open\(\)|func open\(|condition\.wait\(\)|ended\.wait\(\)")

# SQLite asks its busy handler on the thread that waits for the lock, and that thread has to pause: GRDB's queue, not the cooperative pool.
MAY_PAUSE = {"Sources/SluiceDatabase/LockWait.swift"}

# `FileHandle` is in Foundation only, and one file extends it. Apple's platforms have no FoundationEssentials, and use URLSession.
NEED_ALL_OF_FOUNDATION = {"Sources/SluiceFiles/Handles/FileHandle+Async.swift", "Sources/SluiceHTTP/Transport/URLSession/URLSessionEngine.swift",
                          *(str(path.relative_to(ROOT)) for path in (ROOT / "Sources/NativeMark/Apple").glob("*.swift"))}

# Use Lock of SluiceLock, or Guarded in tests: ThreadSanitizer would report a race on everything that a Mutex protects.
MUTEX = re.compile(r"\bMutex\s*[<(]")

IMPORT = re.compile(r"^\s*(?:@[\w()]+ )*(?:\w+ )?import (?:(?:struct|class|enum|func|protocol|var|let|typealias) )?(\w+)", re.M)


def code_of(line: str) -> str:
    return line.split("//", 1)[0]


def missing_from_manifest() -> list[str]:
    """Returns the imports of our modules that the dependencies of a target don't name. SwiftPM builds such modules in any order, and an
    incremental build may link objects that were compiled against an older layout."""
    described = subprocess.run(["swift", "package", "dump-package"], cwd=ROOT, check=True, capture_output=True, text=True)
    targets = json.loads(described.stdout)["targets"]
    names = {target["name"] for target in targets}
    found = []
    for target in targets:
        named = {dependency.get("byName", dependency.get("target", [None]))[0] for dependency in target["dependencies"]}
        directory = ROOT / (target.get("path") or ("Tests/" if target["type"] == "test" else "Sources/") + target["name"])
        imported = {name for path in directory.rglob("*.swift") for name in IMPORT.findall(path.read_text())}
        for name in sorted((imported & names) - named - {target["name"]}):
            found.append(f"Package.swift: {target['name']} imports {name}, but its dependencies don't name it")
    return found


problems = missing_from_manifest()
for module, allowed in MAY_IMPORT.items():
    for path in sorted((ROOT / "Sources" / module).rglob("*.swift")):
        conditional = False
        for number, line in enumerate(path.read_text().splitlines(), 1):
            place = f"{path.relative_to(ROOT)}:{number}"
            if line.startswith("#"):
                conditional = line.startswith("#else") or (conditional and not line.startswith("#endif"))
            imported = re.match(r"\s*(?:@\w+ )*(?:\w+ )?import (?:\w+ )?(\w+)", line)
            if imported:
                name = imported[1]
                # A module may import itself: another target compiles one of its files too.
                if name in OURS and name not in allowed and name != module:
                    problems.append(f"{place}: {module} must not import {name}")
                if name == "Foundation" and not conditional and str(path.relative_to(ROOT)) not in NEED_ALL_OF_FOUNDATION:
                    problems.append(f"{place}: import FoundationEssentials, and Foundation only where FoundationEssentials is missing")
                if name.startswith("Foundation") and module == "SluiceConcurrency":
                    problems.append(f"{place}: SluiceConcurrency must not import Foundation")
            if module != "SluiceLock" and MUTEX.search(code_of(line)):
                problems.append(f"{place}: use Lock of SluiceLock, which ThreadSanitizer understands: {line.strip()}")
            if module not in ("SluiceLock", "SluiceFiles", "SluiceConcurrency") and str(path.relative_to(ROOT)) not in MAY_PAUSE:
                code = OURS_SPELLED_ALIKE.sub("", code_of(line))
                if BLOCKING.search(code):
                    problems.append(f"{place}: blocks a thread; use SluiceFiles: {line.strip()}")
for directory in (*(ROOT / "Tests").glob("*Tests"), ROOT / "Tests/Stress", ROOT / "Tests/TestSupport"):
    for path in sorted(directory.rglob("*.swift")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if MUTEX.search(code_of(line)):
                problems.append(f"{path.relative_to(ROOT)}:{number}: use Guarded of TestSupport, which ThreadSanitizer understands")
print("\n".join(problems) if problems else "Every layer imports only the layers below it, and no layer above SluiceFiles blocks.")
sys.exit(1 if problems else 0)
