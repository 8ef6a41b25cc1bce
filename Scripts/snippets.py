"""Compiles Swift code that is not part of any target, against the modules of a debug build: for the scripts beside it."""
import glob, pathlib, subprocess, tempfile

ROOT = pathlib.Path(__file__).parents[1]
OPTIONS = ["-swift-version", "6", "-enable-upcoming-feature", "NonisolatedNonsendingByDefault"]


def compile_snippet(code: str, scratch: pathlib.Path) -> str | None:
    """The compiler's output if it refuses the code, or None. `scratch` is the folder that was built into.

    Everything is compiled as far as SIL: ownership ("used after consume") is checked after the types are.
    """
    products = scratch / "debug"
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "snippet.swift"
        source.write_text(code)
        maps = [f"-fmodule-map-file={path}" for path in glob.glob(f"{products}/*.build/module.modulemap")]
        # C modules of packages that bring their own map; their Swift modules name them.
        checkouts = glob.glob(f"{scratch}/checkouts/*/Sources/*/include")
        maps += [f"-fmodule-map-file={path}/module.modulemap" for path in checkouts
                 if pathlib.Path(path, "module.modulemap").exists()]
        # System libraries.
        systems = glob.glob(f"{scratch}/checkouts/*/Sources/*/module.modulemap")
        maps += [f"-fmodule-map-file={path}" for path in systems]
        clang = [word for option in maps for word in ("-Xcc", option)]
        command = ["swiftc", "-emit-sil", "-o", "/dev/null", "-parse-as-library", *OPTIONS,
                   "-I", str(products / "Modules"), *clang, str(source)]
        result = subprocess.run(command, capture_output=True, text=True)
        return None if result.returncode == 0 else result.stdout + result.stderr
