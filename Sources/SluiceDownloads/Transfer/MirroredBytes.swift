import SluiceFiles
import SluiceHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The parts of a file that came from mirrors, to find the mirror that sent wrong bytes. What an earlier attempt left may also come from one.
///
///     let before = try await mirrored.checksums(in: file, using: files)
///     // … download SegmentMap(total: total, missing: mirrored.ranges) from the file's own server …
///     let liars = mirrored.mirrors(whose: before, differFrom: try await mirrored.checksums(in: file, using: files))
struct MirroredBytes: Sendable {
    private struct Part: Sendable {
        var range: Range<Int64>
        /// `nil` if it isn't known who sent it.
        let mirror: URL?
    }

    private var parts: [Part] = []

    var isEmpty: Bool { parts.isEmpty }

    /// In the order of the file.
    var ranges: [Range<Int64>] { parts.map(\.range).sorted { $0.lowerBound < $1.lowerBound } }

    /// Notes bytes of an earlier attempt.
    mutating func note(_ range: Range<Int64>) { parts.append(Part(range: range, mirror: nil)) }

    mutating func note(_ count: Int64, at offset: Int64, from mirror: URL) {
        let index = parts.firstIndex { $0.range.upperBound == offset && $0.mirror == mirror }
        if let index {
            parts[index].range = parts[index].range.lowerBound..<offset + count
        } else {
            parts.append(Part(range: offset..<offset + count, mirror: mirror))
        }
    }

    /// Returns a checksum of each part, as it is in the file now.
    func checksums(in file: URL, using files: FileIO) async throws -> [Checksum] {
        var checksums: [Checksum] = []
        for part in parts {
            checksums.append(
                try await TransferDigests.checksum(.sha256, of: file, in: part.range, using: files))
        }
        return checksums
    }

    /// Returns the known mirrors whose parts have changed between two calls of ``checksums(in:using:)``, each once.
    func mirrors(whose before: [Checksum], differFrom after: [Checksum]) -> [URL] {
        var mirrors: [URL] = []
        for (index, part) in parts.enumerated() where before[index] != after[index] {
            if let mirror = part.mirror, !mirrors.contains(mirror) { mirrors.append(mirror) }
        }
        return mirrors
    }
}
