#!/usr/bin/env python3
"""Proves that the documentation of all libraries builds without a warning, from the modules of a debug build (`swift build --build-tests`):
no link to a symbol that doesn't exist, no documentation of an unknown parameter, no article that no page links to.

    Scripts/checks/documentation.py [MODULE ...]

`SLUICE_SCRATCH` names the build directory, `.build` by default. The archives are written to its `documentation` directory; `docc preview`
shows one. swift-docc-plugin makes the same archives, but compiles all packages again.
"""
import concurrent.futures, pathlib, platform, shutil, subprocess, sys, tempfile
from builds import ROOT, SCRATCH, modules_of_build

OUTPUT = SCRATCH / "documentation"
TARGET = f"{platform.machine()}-unknown-linux-gnu"


def run(*words: object) -> None:
    result = subprocess.run([*map(str, words)], capture_output=True, text=True, cwd=ROOT)
    if result.returncode:
        raise RuntimeError(result.stdout + result.stderr)


def build(catalog: pathlib.Path) -> str:
    """Returns the problems in the documentation of a module, or an empty string."""
    module = catalog.stem
    archive = OUTPUT / f"{module}.doccarchive"
    shutil.rmtree(archive, ignore_errors=True)
    try:
        with tempfile.TemporaryDirectory() as graphs:
            run("swift-symbolgraph-extract", "-module-name", module, "-target", TARGET, "-minimum-access-level", "public",
                "-emit-extension-block-symbols", "-output-dir", graphs, *modules_of_build())
            if not list(pathlib.Path(graphs).glob("*.symbols.json")):
                raise RuntimeError("no symbol was found")
            run("docc", "convert", catalog, "--additional-symbol-graph-dir", graphs, "--output-path", archive,
                "--fallback-display-name", module, "--fallback-bundle-identifier", module, "--emit-lmdb-index",
                "--warnings-as-errors")
    except RuntimeError as error:
        return f"{module}: {error}"
    return ""


def main() -> int:
    catalogs = sorted((ROOT / "Sources").glob("*/*.docc"))
    known = [catalog.stem for catalog in catalogs]
    if unknown := [name for name in sys.argv[1:] if name not in known]:
        sys.exit(f"There is no documentation of {', '.join(unknown)}. The modules are {', '.join(known)}.")
    wanted = [catalog for catalog in catalogs if catalog.stem in (sys.argv[1:] or known)]
    OUTPUT.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        problems = [problem for problem in pool.map(build, wanted) if problem]
    for problem in problems:
        print(problem, file=sys.stderr)
    if not problems:
        print(f"{len(wanted)} archives in {OUTPUT.relative_to(ROOT)}")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
