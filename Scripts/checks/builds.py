"""The root of the project and the programs of a build, for the checks.

`SLUICE_SCRATCH` names the build directory (`swift build --scratch-path`), `.build` by default. The checks build nothing.
"""
import glob, os, pathlib, subprocess, sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRATCH = ROOT / os.environ.get("SLUICE_SCRATCH", ".build")


def program(name: str, configuration: str = "debug") -> pathlib.Path:
    """Returns the path of an executable in the build. Ends the script if it is missing."""
    path = SCRATCH / configuration / name
    if not os.access(path, os.X_OK):
        build = "swift build" if configuration == "debug" else f"swift build -c {configuration}"
        sys.exit(f"{path} is missing. Run `{build}`, or name the directory of another build in SLUICE_SCRATCH.")
    return path


def modules_of_build(scratch: pathlib.Path = SCRATCH) -> list[str]:
    """Returns the compiler options for the modules of a debug build, including those of the dependencies."""
    maps = [*glob.glob(f"{scratch}/debug/*.build/module.modulemap"),
            # C modules that have their own module map, and system libraries. Swift modules of the dependencies import them.
            *glob.glob(f"{scratch}/checkouts/*/Sources/*/include/module.modulemap"),
            *glob.glob(f"{scratch}/checkouts/*/Sources/*/module.modulemap")]
    # The headers of the system libraries, if the system has them. A build without their traits doesn't need them.
    headers = []
    for module, package in {"CPangoCairo": "pangocairo", "CGdkPixbuf": "gdk-pixbuf-2.0"}.items():
        found = subprocess.run(["pkg-config", "--cflags-only-I", package], capture_output=True, text=True)
        if found.returncode == 0:
            headers += found.stdout.split()
            maps.append(f"{ROOT}/Sources/{module}/module.modulemap")
    return ["-I", f"{scratch}/debug/Modules", *(word for path in maps for word in ("-Xcc", f"-fmodule-map-file={path}")),
            *(word for flag in headers for word in ("-Xcc", flag))]
