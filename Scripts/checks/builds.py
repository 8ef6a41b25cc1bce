"""The root of the project and the programs of a build, for the scripts that check them.

`SLUICE_SCRATCH` names the directory that was built into (`swift build --scratch-path`), `.build` by default. The checks build nothing.
"""
import glob, os, pathlib, sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRATCH = ROOT / os.environ.get("SLUICE_SCRATCH", ".build")


def program(name: str, configuration: str = "debug") -> pathlib.Path:
    """An executable of the build. Ends the script where it is missing."""
    path = SCRATCH / configuration / name
    if not os.access(path, os.X_OK):
        build = "swift build" if configuration == "debug" else f"swift build -c {configuration}"
        sys.exit(f"{path} is missing. Run `{build}`, or name the directory of another build in SLUICE_SCRATCH.")
    return path


def modules_of_build(scratch: pathlib.Path = SCRATCH) -> list[str]:
    """The words with which the compiler finds the modules of a debug build, those of the packages included."""
    maps = [*glob.glob(f"{scratch}/debug/*.build/module.modulemap"),
            # C modules of packages that bring their own map, and system libraries. Swift modules of these packages name them.
            *glob.glob(f"{scratch}/checkouts/*/Sources/*/include/module.modulemap"),
            *glob.glob(f"{scratch}/checkouts/*/Sources/*/module.modulemap")]
    return ["-I", f"{scratch}/debug/Modules", *(word for path in maps for word in ("-Xcc", f"-fmodule-map-file={path}"))]
