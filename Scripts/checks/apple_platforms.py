"""Compiles Swift for Apple's platforms where Apple's SDKs are missing, for apple.py.

On every machine, the compiler has Apple's platforms as targets: it evaluates `os(…)`, `canImport(…)` and availability for them. It lacks
their modules. Copies of this machine's modules take their place. In each copy, the target that the compiler wrote is replaced with Apple's.
The modules of the toolchain declare the availability of the standard library, Observation and Synchronization on all platforms. C headers
are read as on this machine.
"""
import dataclasses, json, pathlib, re, shutil, subprocess
from builds import ROOT, SCRATCH, modules_of_build

# The toolchain's modules are next to the compiler: bin/swiftc, lib/swift.
TOOLCHAIN = pathlib.Path(shutil.which("swiftc") or "swiftc").resolve().parents[1] / "lib/swift"
INFORMATION = json.loads(subprocess.run(["swiftc", "-print-target-info"], capture_output=True, check=True).stdout)
HOST = INFORMATION["target"]["moduleTriple"]
LIBRARIES = TOOLCHAIN / INFORMATION["target"]["platform"]

# The version of visionOS that has the API of a version of iOS.
VISION = {f"{major}.{minor}": "1.0" for major in range(2, 18) for minor in range(10)}
VISION |= {"17.4": "1.1", "17.5": "1.2"} | {f"18.{minor}": f"2.{minor}" for minor in range(7)}
VISION |= {f"26.{minor}": f"26.{minor}" for minor in range(10)}
# Our C modules that Swift code for Apple's platforms imports. The second tuple names the ones that are empty except on macOS.
C_MODULES = ("CSluiceFiles", "CSluiceHTTP", "CSluicePostgres")
C_MODULES_OF_MACOS = ("CSluiceHTTP", "CSluicePostgres")

# The headers of this machine's C library aren't included, because Swift code would see all their names. These are the declarations that
# ours need from them, apart from types that have other widths on Apple's platforms.
PIECES = """
#ifndef SLUICE_IOVEC
#define SLUICE_IOVEC
#include <stddef.h>
struct iovec { void *iov_base; size_t iov_len; };
#endif
"""


@dataclasses.dataclass(frozen=True)
class Platform:
    name: str           # as in os(…)
    system: str         # in the name of the target
    version: str        # the platforms in Package.swift
    directory: str      # of the platform's modules in a toolchain
    kits: tuple[str, ...]

    @property
    def target(self) -> str:
        return f"arm64-apple-{self.system}{self.version}"


def platforms(manifest: str) -> list[Platform]:
    """Returns Apple's platforms with the versions that a manifest requires."""
    rows = [("macOS", "macosx", "macosx", ("AppKit", "SwiftUI")), ("iOS", "ios", "iphoneos", ("UIKit", "SwiftUI")),
            ("tvOS", "tvos", "appletvos", ("UIKit", "SwiftUI")), ("watchOS", "watchos", "watchos", ("UIKit", "SwiftUI")),
            ("visionOS", "xros", "xros", ("UIKit", "SwiftUI"))]
    return [Platform(name, system, manifest.split(f".{name}(.v")[1].split(")")[0].replace("_", "."), directory, kits)
            for name, system, directory, kits in rows]


def retargeted(file: pathlib.Path, copy: pathlib.Path, platform: Platform) -> None:
    """Copies a module, and replaces the target that it was compiled for. The compiler wrote the target with its length, which must not
    change."""
    oldest = f"arm64-apple-{platform.system}1."
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_bytes(file.read_bytes().replace(HOST.encode(), (oldest + "0" * (len(HOST) - len(oldest))).encode()))


class Compiler:
    """A directory with the modules of one platform, and the compiler for it."""

    def __init__(self, platform: Platform, directory: pathlib.Path, ours: set[str]):
        self.platform, self.directory = platform, directory
        self.modules = directory / "modules"
        self.modules.mkdir(parents=True)
        resources = directory / "resources"
        resources.mkdir()
        for path in TOOLCHAIN.iterdir():
            if path.is_dir() and path != LIBRARIES:
                (resources / path.name).symlink_to(path)
        for path in LIBRARIES.glob(f"*.swiftmodule/{HOST}.swiftmodule"):
            retargeted(path, resources / platform.directory / path.parent.name / f"arm64-apple-{module_system(platform)}.swiftmodule",
                       platform)
        for path in SCRATCH.glob("debug/Modules/*.swiftmodule"):
            if path.stem not in ours:
                retargeted(path, self.modules / path.name, platform)
        # Not the root directory, because the compiler would take all our modules for an SDK's.
        sdk = directory / "sdk"
        sdk.mkdir()
        for name in ("usr", "lib", "lib64"):
            (sdk / name).symlink_to(f"/{name}")
        # As in Apple's SDK, because declarations name versions of iOS.
        (sdk / "SDKSettings.json").write_text(json.dumps({
            "CanonicalName": platform.system + platform.version, "DisplayName": platform.name, "Version": platform.version,
            "MaximumDeploymentTarget": "99.0",
            "VersionMap": {"iOS_visionOS": VISION, "iOS_xrOS": VISION}}))
        # Where the compiler for this machine finds the module map of its C library.
        headers = {f"{sdk}/usr/include/{name}": file for name, file in (("module.modulemap", "glibc.modulemap"),
                                                                        ("SwiftGlibc.h", "SwiftGlibc.h"))}
        (directory / "overlay.yaml").write_text(json.dumps({"version": 0, "roots": [
            {"name": name, "type": "file", "external-contents": str(LIBRARIES / HOST.split("-")[0] / file)}
            for name, file in headers.items()]}))
        self.words = ["-target", platform.target, "-resource-dir", resources, "-module-cache-path", directory / "cache", "-sdk", sdk,
                      "-disable-target-os-checking", "-disable-objc-interop", "-clang-target", HOST,
                      "-vfsoverlay", directory / "overlay.yaml", "-plugin-path", TOOLCHAIN / "host/plugins",
                      "-plugin-path", TOOLCHAIN / "host/plugins/testing",
                      *(word for option in ("-Xclang", "-fbuiltin-headers-in-system-modules", "-fPIC") for word in ("-Xcc", option)),
                      "-I", self.modules, *modules_of_dependencies(), *self.headers()]

    def headers(self) -> list[str]:
        """Copies the headers of our C modules, changed to the types of Apple's platforms, and returns the options that find them."""
        words = []
        for module in C_MODULES:
            if self.platform.name != "macOS" and module in C_MODULES_OF_MACOS:
                continue
            copy = self.directory / "headers" / module
            copy.mkdir(parents=True)
            for path in (ROOT / "Sources" / module / "include").iterdir():
                text = path.read_text()
                if module == "CSluiceFiles":
                    text = re.sub(r"#include <(?!std(bool|def|int)\.h).*", "", text).replace("#pragma once", "#pragma once\n" + PIECES)
                    text = re.sub(r"\bmode_t\b", "unsigned short", re.sub(r"\bssize_t\b", "long", text))
                (copy / path.name).write_text(text)
            (copy / "module.modulemap").write_text(f'module {module} {{ umbrella header "{module}.h" }}\n')
            words += ["-Xcc", f"-fmodule-map-file={copy}/module.modulemap"]
        return words

    def run(self, *words: object) -> str | None:
        """Returns the compiler's output if it fails, or None."""
        result = subprocess.run(["swiftc", "-frontend", *map(str, [*words, *self.words])], capture_output=True, text=True)
        return None if result.returncode == 0 else (result.stdout + result.stderr).replace(f"{self.directory}/", "")

    def emit(self, module: str, *words: object) -> str | None:
        return self.run("-emit-module", "-module-name", module, "-o", self.modules / f"{module}.swiftmodule", "-parse-as-library",
                        *words)

    def typecheck(self, module: str, *words: object) -> str | None:
        return self.run("-typecheck", "-module-name", module, *words)


def module_system(platform: Platform) -> str:
    return {"macosx": "macos"}.get(platform.system, platform.system)


def modules_of_dependencies() -> list[str]:
    """Returns the options for the C modules of the dependencies, without the Swift modules of the build."""
    return [word for path in modules_of_build() if path.startswith("-fmodule") and not re.search(r"/C(Sluice|TestSupport)", path)
            for word in ("-Xcc", path)]
