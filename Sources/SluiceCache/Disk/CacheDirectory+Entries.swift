import SluiceDatabase
import SluiceFiles
import SluiceHTTP

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

extension CacheDirectory {
    /// A stored response.
    package struct Entry: Sendable, Equatable {
        /// The URL, without a fragment. It may contain secrets.
        package var url: String
        package var status: Int
        /// The length of the body.
        package var size: Int
        /// The time of the last use that the index knows. A use counts a little later: see `UseTimes`.
        package var lastUse: Date
        /// The seconds since the server created or confirmed the response, or `nil` if the clock was set back since then.
        package var age: Int64?
        /// The seconds for which the response stays fresh, negative if they are over. `nil` if the age is unknown, or if the server wants
        /// each use to be validated.
        package var freshFor: Int64?
        package var isFresh: Bool
        /// The names of the request fields that the response depends on (`Vary`), in lowercase.
        package var variantFields: [String]
    }

    /// A place in the list of entries.
    package struct Position: Sendable {
        fileprivate var place: DiskIndex.Position
        /// The place before the first entry.
        package static let start = Self(place: DiskIndex.Position())
    }

    package struct Page: Sendable {
        package var entries: [Entry]
        /// The place of the next page, or `nil` after the last one.
        package var next: Position?
    }

    /// The numbers of a cache.
    package struct Totals: Sendable, Equatable {
        package var entries = 0
        package var fresh = 0
        /// The size of all bodies with what an entry takes in addition, as the limit of a cache counts it.
        package var bytes: Int64 = 0
        /// The size of the index.
        package var indexBytes: Int64 = 0
        package var oldestUse: Date?
        package var newestUse: Date?
    }

    /// A selection of URLs: those that begin with a text, or, if the text has a `*`, those that match it as a whole. A `*` stands for any
    /// text.
    package struct Pattern: Sendable {
        let glob: String

        package init(_ text: String) {
            // The other special characters of SQLite's GLOB are frequent in URLs.
            let escaped = text.reduce(into: "") { $0 += $1 == "?" || $1 == "[" ? "[\($1)]" : String($1) }
            glob = text.contains("*") ? escaped : escaped + "*"
        }
    }

    /// Returns entries, the most recently used first. An entry that is used meanwhile may be missing from the pages.
    package func entries(
        after position: Position, matching pattern: Pattern? = nil, most: Int = 500
    ) async throws -> Page {
        let rows = try await store.database.read { [policy] database in
            try DiskIndex.byLastUse(
                after: position.place, matching: pattern?.glob, most: most, policy, in: database)
        }
        let now = now()
        let next = rows.count == most ? rows.last : nil
        return Page(
            entries: rows.compactMap { entry($0, now) },
            next: next.map { Position(place: DiskIndex.Position(accessed: $0.accessed, id: $0.id)) })
    }

    /// Returns the numbers that need no look at the entries: all but those of fresh ones and of the index.
    package func size() async throws -> Totals {
        let (extent, used) = try await store.database.read { database in
            (try DiskIndex.extent(in: database), try DiskIndex.usedBytes(in: database))
        }
        return Totals(
            entries: extent.count, bytes: used, oldestUse: extent.oldest.map(Self.date),
            newestUse: extent.newest.map(Self.date))
    }

    package func totals() async throws -> Totals {
        var totals = try await size()
        var position: Position? = .start
        while let start = position {
            let page = try await entries(after: start)
            totals.fresh += page.entries.count { $0.isFresh }
            position = page.next
            try Task.checkCancellation()
        }
        for name in ["index.db", "index.db-wal"] {
            let file = directory.appending(path: name, directoryHint: .notDirectory)
            totals.indexBytes += try await store.files.status(of: file)?.size ?? 0
        }
        return totals
    }

    private func entry(_ row: DiskIndex.Listed, _ now: HTTPDate) -> Entry? {
        guard let ready = row.ready else { return nil }
        let freshness = ready.head.freshness
        let age = freshness.isAgeKnown(at: now) ? freshness.age(at: now) : nil
        let (left, overflows) = freshness.lifetime.subtractingReportingOverflow(age ?? 0)
        return Entry(
            url: row.key.text, status: ready.head.status, size: ready.bytes, lastUse: Self.date(row.accessed), age: age,
            freshFor: age == nil || overflows || ready.head.control.noCache ? nil : left,
            isFresh: policy.isFresh(ready.head, at: now),
            variantFields: ready.head.variant.lines.split(separator: "\n").map {
                String($0.prefix { $0 != ":" })
            })
    }

    static func date(_ microseconds: Int64) -> Date {
        Date(timeIntervalSince1970: Double(microseconds) / 1_000_000)
    }
}
