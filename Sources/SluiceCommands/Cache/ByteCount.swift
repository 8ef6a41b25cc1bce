import ArgumentParser

/// A number of bytes as an argument, such as `500k`, `100M`, `1.5GB` or `2GiB`.
struct ByteCount: ExpressibleByArgument, Sendable, Equatable {
    var bytes: Int64

    init?(argument: String) {
        let units: [(name: String, factor: Double)] = [
            ("", 1), ("k", 1e3), ("m", 1e6), ("g", 1e9), ("t", 1e12), ("ki", 1024), ("mi", 1_048_576),
            ("gi", 1_073_741_824), ("ti", 1_099_511_627_776),
        ]
        var text = argument.lowercased()[...]
        if text.hasSuffix("b") { text.removeLast() }
        let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        let unit = text.dropFirst(digits.count).drop { $0 == " " }
        guard let number = Double(digits), let factor = units.first(where: { $0.name == unit })?.factor,
            number * factor <= 1e18
        else { return nil }
        bytes = Int64(number * factor)
    }
}

/// A time as an argument, such as `90s`, `45m`, `12h`, `30d` or `4w`.
struct TimeSpan: ExpressibleByArgument, Sendable, Equatable {
    var seconds: Int64

    init?(argument: String) {
        let factors: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800]
        guard let factor = argument.last.flatMap({ factors[$0] }), argument.utf8.count <= 10,
            argument.dropLast().utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let number = Int64(argument.dropLast())
        else { return nil }
        seconds = number * factor
    }
}
