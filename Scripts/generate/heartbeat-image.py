#!/usr/bin/env python3
"""Measures how late a 1 ms heartbeat task is while 64 tasks read files, and draws the result for the documentation.

    Scripts/generate/heartbeat-image.py    # draws Sources/SluiceFiles/SluiceFiles.docc/Resources/heartbeat.svg

It builds a separate package in .build-heartbeat, or in the directory that SLUICE_SCRATCH names.

The program runs three times in an otherwise idle process: without reads, with 64 tasks that read with Foundation, and with 64 tasks that
read with `Data(asyncContentsOf:)`. Half of the tasks read a file of 4 MiB that isn't cached. The other half read a FIFO whose writer takes
20 ms, as slow as a slow server on every machine. The heartbeat sleeps for 1 ms in a loop and records how late each beat is.
"""
import argparse, json, math, os, pathlib, subprocess, tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
IMAGE = ROOT / "Sources/SluiceFiles/SluiceFiles.docc/Resources/heartbeat.svg"

MANIFEST = """// swift-tools-version: 6.2
import PackageDescription
let package = Package(
    name: "heartbeat", platforms: [.macOS(.v15)], dependencies: [.package(name: "sluice", path: "%s")],
    targets: [
        .executableTarget(
            name: "heartbeat", dependencies: [.product(name: "SluiceFiles", package: "sluice")],
            swiftSettings: [.enableUpcomingFeature("NonisolatedNonsendingByDefault")])
    ])
"""

PROGRAM = r"""
import Foundation
import SluiceFiles

let directory = URL(filePath: CommandLine.arguments[1])
let kind = CommandLine.arguments[2]
let clock = ContinuousClock()

func milliseconds(_ duration: Duration) -> Double { duration / .milliseconds(1) }

func files(_ name: String) -> [URL] { (0..<32).map { directory.appending(path: "\(name)\($0)") } }

for file in files("file") {
    let descriptor = open(file.path, O_RDWR | O_CREAT, 0o600)
    if lseek(descriptor, 0, SEEK_END) == 0 {
        let bytes = Data(repeating: 7, count: 4 << 20)
        _ = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    }
    fsync(descriptor)
    #if os(Linux)
    posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED)
    #endif
    close(descriptor)
}

for fifo in files("fifo") {
    unlink(fifo.path)
    mkfifo(fifo.path, 0o600)
    if kind == "idle" { continue }
    let thread = Thread {
        let descriptor = open(fifo.path, O_WRONLY)
        usleep(20_000)
        _ = Data(repeating: 7, count: 1000).withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        close(descriptor)
    }
    thread.stackSize = 256 << 10
    thread.start()
}

@concurrent func read(_ url: URL) async throws -> Int {
    switch kind {
    // On Linux Data(contentsOf:) refuses a FIFO.
    case "foundation" where url.lastPathComponent.hasPrefix("fifo"):
        try FileHandle(forReadingFrom: url).readToEnd()?.count ?? 0
    case "foundation": try Data(contentsOf: url).count
    default: try await Data(asyncContentsOf: url).count
    }
}

let start = clock.now
let heart = Task { @concurrent in
    var beats: [(at: Double, late: Double)] = []
    while !Task.isCancelled {
        let before = clock.now
        try? await Task.sleep(for: .milliseconds(1), tolerance: .zero, clock: clock)
        let after = clock.now
        beats.append((milliseconds(after - start), milliseconds(after - before) - 1))
    }
    return beats
}

try await Task.sleep(for: .milliseconds(100))
let began = clock.now
if kind == "idle" {
    try await Task.sleep(for: .milliseconds(300))
} else {
    let total = try await withThrowingTaskGroup(of: Int.self) { group in
        for url in files("file") + files("fifo") { group.addTask { try await read(url) } }
        var total = 0
        for try await count in group { total += count }
        return total
    }
    precondition(total == 32 * (4 << 20) + 32 * 1000)
}
let took = clock.now - began
try await Task.sleep(for: .milliseconds(100))
heart.cancel()
let beats = await heart.value
let list = beats.map { "[\($0.at), \($0.late)]" }.joined(separator: ", ")
print("{\"began\": \(milliseconds(began - start)), \"took\": \(milliseconds(took)), \"beats\": [\(list)]}")
"""


def measure(scratch: pathlib.Path) -> dict:
    with tempfile.TemporaryDirectory(dir=ROOT, prefix=".build-heartbeat-") as directory:
        package = pathlib.Path(directory)
        (package / "Sources/heartbeat").mkdir(parents=True)
        (package / "Package.swift").write_text(MANIFEST % ROOT)
        (package / "Sources/heartbeat/main.swift").write_text(PROGRAM)
        (package / "files").mkdir()
        build = ["swift", "build", "-c", "release", "--package-path", directory, "--scratch-path", str(scratch)]
        built = subprocess.run(build, capture_output=True, text=True)
        if built.returncode != 0:
            raise SystemExit(built.stdout + built.stderr)
        program = str(scratch / "release/heartbeat")
        runs = {}
        for kind in ["idle", "foundation", "sluice"]:
            output = subprocess.run([program, str(package / "files"), kind], check=True, capture_output=True, text=True)
            runs[kind] = json.loads(output.stdout)
        return runs


def summary(run: dict) -> str:
    late = sorted(beat[1] for beat in run["beats"])
    return f"{len(late)} beats, median {late[len(late) // 2]:.2f} ms late, latest {late[-1]:.1f} ms; read in {run['took']:.0f} ms"


def draw(runs: dict) -> str:
    """Draws three rows with the same time axis. The lateness is on a logarithmic scale from 0.01 ms to 10 s."""
    titles = {"idle": "Nothing is read", "foundation": "64 tasks read with Data(contentsOf:) and FileHandle.readToEnd()",
              "sluice": "64 tasks read with Data(asyncContentsOf:)"}
    width, row, left, top = 720, 130, 60, 30
    span = max(run["beats"][-1][0] for run in runs.values())
    x = lambda time: left + time / span * (width - left - 20)

    def y(late: float, base: float) -> float:
        return base - (math.log10(min(max(late, 0.01), 10_000)) + 2) / 6 * (row - 40)

    height = top + row * len(runs) + 30
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
             f'<rect width="{width}" height="{height}" fill="#ffffff"/>']
    for index, (kind, run) in enumerate(runs.items()):
        base = top + row * (index + 1) - 20
        parts.append(f'<text x="{left}" y="{base - row + 34}" font-weight="bold" fill="#222222">{titles[kind]}</text>')
        if kind != "idle":
            parts.append(f'<rect x="{x(run["began"]):.1f}" y="{base - row + 40}" width="{x(run["took"]) - left:.1f}" '
                         f'height="{row - 40}" fill="#eeeeee"/>')
        for late, text in [(0.01, "10 µs"), (1, "1 ms"), (100, "100 ms"), (10_000, "10 s")]:
            parts.append(f'<line x1="{left}" x2="{width - 20}" y1="{y(late, base):.1f}" y2="{y(late, base):.1f}" stroke="#cccccc"/>')
            parts.append(f'<text x="{left - 6}" y="{y(late, base) + 4:.1f}" text-anchor="end" fill="#555555">{text}</text>')
        color = "#c0392b" if kind == "foundation" else "#2471a3"
        for time, late in run["beats"]:
            parts.append(f'<circle cx="{x(time):.1f}" cy="{y(late, base):.1f}" r="1.6" fill="{color}"/>')
    parts.append(f'<text x="{left}" y="{height - 12}" fill="#555555">0</text>')
    parts.append(f'<text x="{width - 20}" y="{height - 12}" text-anchor="end" fill="#555555">{span / 1000:.2f} s</text>')
    parts.append(f'<text x="{width / 2}" y="{height - 12}" text-anchor="middle" fill="#555555">'
                 "each dot is one beat: when it came, and how late; grey while the tasks read</text>")
    return "\n".join(parts + ["</svg>", ""])


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    runs = measure(ROOT / os.environ.get("SLUICE_SCRATCH", ".build-heartbeat"))
    IMAGE.parent.mkdir(exist_ok=True)
    IMAGE.write_text(draw(runs))
    for kind, run in runs.items():
        print(f"{kind}: {summary(run)}")
