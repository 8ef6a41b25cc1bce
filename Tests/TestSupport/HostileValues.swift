public import Foundation

/// Random and extreme values of the types that a library gets from files, servers and users. The same seed yields the same values.
public struct HostileValues: Sendable {
    private var random: SeededRandom

    /// Creates values from a seed.
    public init(seed: UInt64) { random = SeededRandom(seed: seed) }

    private static let texts = [
        "", " ", "\0", "a\0b", "\u{301}", "\u{301}\u{302}\u{200D}", "\u{202E}gpj.exe\u{2066}", "\u{FEFF}", "\r\n", "é",
        "😀👨‍👩‍👧", "..", ".", "/",
        "../../etc/passwd", "/a//b/../c", "%", "%00", "%zz%E9", "a:b", "//", "://", "http://", "http://[",
        "http://a:99999999999999999999/",
        "https://ann:secret@example.com:0/x?q#f", "file:///", "-", "-1", "1e999", "nan", "9223372036854775808", "{",
        "[[", "\"", "\\", "*_`~",
        "attachment; filename*=UTF-8''%FF%2e%2e", "bytes */*", "max-age=99999999999999999999",
        String(repeating: "a", count: 300),
        String(repeating: "../", count: 2_000), String(repeating: "\u{301}", count: 5_000),
        String(repeating: "x", count: 100_000),
    ]
    private static let numbers: [Int64] = [
        0, 1, -1, 2, 3, 7, 255, 256, 65_535, 65_536, Int64(Int32.max), Int64(Int32.max) + 1, Int64(Int32.min), 1 << 53,
        .max, .max - 1, .max / 2,
        .max / 10, .min, .min + 1,
    ]
    private static let fractions: [Double] = [
        0, -0.0, 0.5, 1, -1, 1e9, -1e9, 9.3e18, -9.3e18, .infinity, -.infinity, .nan, .greatestFiniteMagnitude,
        .leastNonzeroMagnitude,
    ]
    private static let durations: [Duration] = [
        .zero, .nanoseconds(1), .nanoseconds(-1), .milliseconds(1), .seconds(1), .seconds(-1), .seconds(1 << 31),
        .seconds(1 << 53),
        .seconds(Int64.max), .seconds(Int64.min),
        Duration(secondsComponent: .max, attosecondsComponent: 999_999_999_999_999_999),
    ]

    /// A text: empty, with control characters, up to 100 kB long, or a mixture.
    public mutating func text() -> String {
        let one = Self.texts.randomElement(using: &random)!
        return Bool.random(using: &random) ? one : one + Self.texts.dropLast(4).randomElement(using: &random)!
    }

    /// A number, often an extreme one.
    public mutating func int64() -> Int64 {
        Self.numbers.randomElement(using: &random)!
    }

    /// A number, often an extreme one.
    public mutating func int() -> Int { Int(int64()) }

    /// A number that is at least `minimum`, for calls with such a precondition.
    public mutating func int(from minimum: Int) -> Int { max(minimum, int()) }

    /// A number, NaN or infinity.
    public mutating func double() -> Double { Self.fractions.randomElement(using: &random)! }

    /// A duration, which may be negative or longer than any clock can count.
    public mutating func duration() -> Duration { Self.durations.randomElement(using: &random)! }

    /// A range of integers, whose length may exceed the largest integer.
    public mutating func range() -> Range<Int> {
        let (one, other) = (int(), int())
        return min(one, other)..<max(one, other)
    }

    /// A range of offsets in a file, which may end at the largest integer. Its length isn't between 64 KiB and 8 PiB, because a file system
    /// might actually allocate that.
    public mutating func offsets() -> Range<Int64> {
        let ends = [0, 1, 255, 4096, 65_536, 1 << 53, Int64.max - 1, .max]
        let (one, other) = (self.one(of: ends), self.one(of: ends))
        return min(one, other)..<max(one, other)
    }

    /// The bytes of a text, or random bytes.
    public mutating func bytes() -> [UInt8] {
        Bool.random(using: &random)
            ? Array(text().utf8)
            : (0..<Int.random(in: 0...64, using: &random)).map { _ in .random(in: 0...255, using: &random) }
    }

    /// A URL made from a text or a path.
    public mutating func url() -> URL {
        let text = text()
        return URL(string: text) ?? URL(
            string: "http://example.com/" + (text.addingPercentEncoding(withAllowedCharacters: []) ?? ""))
            ?? URL(filePath: "/")
    }

    /// The JSON of a value, with some parts replaced or missing.
    public mutating func damagedJSON(of value: some Encodable) throws -> Data {
        let json = try JSONSerialization.jsonObject(with: JSONEncoder().encode(value), options: .fragmentsAllowed)
        return try JSONSerialization.data(withJSONObject: damaged(json), options: .fragmentsAllowed)
    }

    private mutating func damaged(_ json: Any) -> Any {
        switch Int.random(in: 0..<30, using: &random) {
        case 0: return NSNull()
        case 1: return NSNumber(value: int64())
        case 2: return text()
        case 3: return [Any]()
        case 4: return [String: Any]()
        default: break
        }
        if let object = json as? [String: Any] {
            var result: [String: Any] = [:]
            for (key, value) in object.sorted(by: { $0.key < $1.key }) where Int.random(in: 0..<20, using: &random) > 0
            {
                result[key] = damaged(value)
            }
            return result
        }
        guard let list = json as? [Any] else { return json }
        var result: [Any] = []
        for value in list { result.append(damaged(value)) }
        return result
    }

    /// A random element of a nonempty collection.
    public mutating func one<Element>(of elements: some Collection<Element>) -> Element {
        elements.randomElement(using: &random)!
    }
}

/// A call with hostile values. It may throw, but must not end the process.
public struct HostileCall: Sendable {
    /// The name of the called declaration in docs/api, such as `MemoryCache.insert(_:for:cost:)`.
    public let name: String
    /// The call.
    public let body: @Sendable (inout HostileValues) async throws -> Void

    /// Creates a call.
    public init(_ name: String, _ body: @escaping @Sendable (inout HostileValues) async throws -> Void) {
        (self.name, self.body) = (name, body)
    }

    /// The seed of the values. `SLUICE_HOSTILE_SEED` overrides it.
    public static var seed: UInt64 {
        ProcessInfo.processInfo.environment["SLUICE_HOSTILE_SEED"].flatMap { UInt64($0) } ?? 20_261_126
    }

    /// Runs the calls in a child process, each `rounds` times with different values, and logs to `log` which one is running.
    public static func run(_ calls: [HostileCall], rounds: Int = 200, log: String) async {
        for call in calls {
            for round in 0..<rounds {
                try? Data("\(call.name), round \(round)".utf8).write(to: URL(filePath: log))
                var values = HostileValues(seed: seed &+ UInt64(round) &* 1_000_003)
                try? await call.body(&values)
            }
        }
        try? Data("finished".utf8).write(to: URL(filePath: log))
    }

    /// Returns the public functions and initializers in `docs/api/MODULE.txt` that take a text, number, duration, time, URL, bytes or
    /// stored value but aren't in `names`, and the names that the file doesn't contain.
    public static func uncovered(_ module: String, _ names: [String], file: String = #filePath) throws -> (
        missing: [String], unknown: [String]
    ) {
        let root = URL(filePath: file).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try String(contentsOf: root.appending(path: "docs/api/\(module).txt"), encoding: .utf8)
        let hostile =
            /: (inout )?(\[?(String|Substring|Int|Int64|UInt32|UInt64|Double|Duration|URL|Data|UInt8|Date|C\.Instant|any Decoder|QueuedDownload\.ID|QueuedDownload\.Selection|QueueEvent\.Cursor)\b|Range<(Int|Int64)>|Set<String>|some StringProtocol|some (Sequence|Collection|RandomAccessCollection)<(URL|UInt8)>)/
        var (all, wanted): (Set<String>, Set<String>) = ([], [])
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            guard let colon = line.firstRange(of: ": ") else { continue }
            let (name, declaration) = (String(line[..<colon.lowerBound]), line[colon.upperBound...])
            // The compiler generates the initializers of enums.
            guard !declaration.hasPrefix("init?(rawValue:") else { continue }
            guard declaration.contains("func ") || declaration.contains(/\binit[?]?[(<]/) else { continue }
            all.insert(name)
            // Operators compare values that other calls create.
            if !name.contains("<("), parameters(of: declaration).contains(hostile) { wanted.insert(name) }
        }
        return (wanted.subtracting(names).sorted(), Set(names).subtracting(all).sorted())
    }

    /// Returns the text between the parentheses after the name. A parameter may be a closure, which has its own arrow.
    private static func parameters(of declaration: Substring) -> Substring {
        guard let name = declaration.firstMatch(of: /(func [^(]*|init[?]?(<[^(]*>)?)\(/) else { return "" }
        let rest = declaration[name.range.upperBound...]
        var depth = 1
        let end = rest.firstIndex { character in
            if character == "(" { depth += 1 }
            if character == ")" { depth -= 1 }
            return depth == 0
        }
        return rest[..<(end ?? rest.endIndex)]
    }
}
