#!/usr/bin/env python3
"""Proves that the documentation of all libraries builds without a warning, from the modules of a debug build (`swift build --build-tests`):
no link to a symbol that doesn't exist, no documentation of an unknown parameter, no article that no page links to. Also proves that
docs/api lists the public API, so that each change of the API shows in review.

    Scripts/checks/documentation.py [MODULE ...]
    Scripts/checks/documentation.py --write-api         # writes docs/api instead of comparing it
    Scripts/checks/documentation.py --site DIRECTORY    # all modules and the landing page as one website, for any web server

`SLUICE_SCRATCH` names the build directory, `.build` by default. The archives and the site are written to its `documentation` directory.
swift-docc-plugin makes the same archives, but compiles all packages again.
"""
import argparse, concurrent.futures, difflib, json, pathlib, platform, shutil, subprocess, sys, tempfile
from builds import ROOT, SCRATCH, modules_of_build

OUTPUT = SCRATCH / "documentation"
API = ROOT / "docs/api"
API_HEADER = """\
# The public API of {module}, with `--traits PostgreSQL,Cairo,GdkPixbuf` and on Linux: what is inside `#if os` or `#if canImport` for Apple's
# platforms is missing, and so are members that the compiler or other modules provide.
# Written by Scripts/checks/documentation.py --write-api, and compared by CI.

"""
writes_api = "--write-api" in sys.argv
TARGET = f"{platform.machine()}-unknown-linux-gnu"


def run(*words: object) -> None:
    result = subprocess.run([*map(str, words)], capture_output=True, text=True, cwd=ROOT)
    if result.returncode:
        raise RuntimeError(result.stdout + result.stderr)


def public_api(module: str, graphs: pathlib.Path) -> str:
    """The public declarations of a module, one per line, and the protocols to which each type conforms, sorted by qualified name.

    Members that the compiler synthesizes, or that come from protocols' extensions in other modules, are left out.
    """
    lines, names, conformances = set(), {}, {}
    graphs = [json.loads(path.read_text()) for path in sorted(graphs.glob("*.symbols.json"))]
    for symbol in (symbol for graph in graphs for symbol in graph["symbols"]):
        names[symbol["identifier"]["precise"]] = name = ".".join(symbol["pathComponents"])
        if "::SYNTHESIZED::" in symbol["identifier"]["precise"] or symbol["kind"]["identifier"] == "swift.extension":
            continue
        declaration = " ".join("".join(part["spelling"] for part in symbol["declarationFragments"]).split())
        available = ", ".join(f"{one['domain']} {'.'.join(str(one['introduced'][key]) for key in ('major', 'minor') if key in one['introduced'])}"
                              for one in symbol.get("availability", []) if "domain" in one and "introduced" in one)
        lines.add((name, f"{name}: {declaration}" + (f"  [{available}]" if available else "")))
    for relation in (relation for graph in graphs for relation in graph["relationships"]):
        if relation["kind"] == "conformsTo" and relation["source"] in names:
            target = names.get(relation["target"]) or relation.get("targetFallback", "").removeprefix("Swift.")
            if target not in ("SendableMetatype", "Copyable", "Escapable"):
                conformances.setdefault(names[relation["source"]], set()).add(target)
    lines |= {(name, f"{name}: conforms to {', '.join(sorted(protocols))}") for name, protocols in conformances.items()}
    return API_HEADER.format(module=module) + "".join(line + "\n" for _, line in sorted(lines))


def compare_api(module: str, text: str) -> str:
    """Returns the differences from docs/api, or an empty string."""
    path = API / f"{module}.txt"
    old = path.read_text() if path.exists() else ""
    if writes_api:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return ""
    changes = list(difflib.unified_diff(old.splitlines(True), text.splitlines(True), f"docs/api/{module}.txt", "the code", n=0))
    return "".join(changes) + "The public API has changed. If you mean it, run Scripts/checks/documentation.py --write-api." if changes else ""


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
            if changes := compare_api(module, public_api(module, pathlib.Path(graphs))):
                raise RuntimeError(changes)
            run("docc", "convert", catalog, "--additional-symbol-graph-dir", graphs, "--output-path", archive,
                "--fallback-display-name", module, "--fallback-bundle-identifier", module, "--emit-lmdb-index",
                "--enable-experimental-external-link-support", "--warnings-as-errors")
    except RuntimeError as error:
        return f"{module}: {error}"
    return ""


def build_site(archives: list[pathlib.Path], site: pathlib.Path) -> None:
    """Merges the archives with the landing page, which links to them. The site needs a web server, because its pages load data."""
    landing = OUTPUT / "Sluice.doccarchive"
    for path in (landing, site):
        shutil.rmtree(path, ignore_errors=True)
    run("docc", "convert", ROOT / "docs/Sluice.docc", "--output-path", landing, "--fallback-display-name", "Sluice",
        "--fallback-bundle-identifier", "Sluice", "--enable-experimental-external-link-support", "--warnings-as-errors",
        *(word for archive in archives for word in ("--dependency", archive)))
    run("docc", "merge", *archives, landing, "--output-path", site)
    (site / "index.html").write_text('<meta http-equiv="refresh" content="0; url=documentation/sluice/">\n')


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", metavar="MODULE")
    parser.add_argument("--write-api", action="store_true")
    parser.add_argument("--site", type=pathlib.Path, metavar="DIRECTORY")
    options = parser.parse_args()
    catalogs = sorted((ROOT / "Sources").glob("*/*.docc"))
    known = [catalog.stem for catalog in catalogs]
    if options.modules and options.site:
        sys.exit("The site has all modules: use --site without the names of modules.")
    if unknown := [name for name in options.modules if name not in known]:
        sys.exit(f"There is no documentation of {', '.join(unknown)}. The modules are {', '.join(known)}.")
    wanted = [catalog for catalog in catalogs if catalog.stem in (options.modules or known)]
    OUTPUT.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        problems = [problem for problem in pool.map(build, wanted) if problem]
    for problem in problems:
        print(problem, file=sys.stderr)
    if not problems and not options.modules:
        site = options.site.resolve() if options.site else OUTPUT / "site"
        if site.exists() and any(site.iterdir()) and not (site / "linkable-entities.json").exists():
            sys.exit(f"{site} isn't a site that this script wrote, and isn't replaced. Name another directory.")
        try:
            build_site([OUTPUT / f"{name}.doccarchive" for name in known], site)
        except RuntimeError as error:
            sys.exit(f"The site: {error}")
        print(f"The site is in {site}. To read it: python3 -m http.server --bind 127.0.0.1 --directory {site}")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
