#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// Defines what "the same host" means. Per-host limits, circuit breakers, proxy exceptions and origins all compare hosts in this spelling.
///
///     HostName.canonical("A.Example.")                // a.example
///     HostName.canonical("127.1")                     // 127.0.0.1
///     HostName.canonical("0:0:0:0:0:0:0:1")           // [::1]
///     HostName.canonical("bücher.example")            // xn--bcher-kva.example
///
/// Nothing is looked up: two names for one address are two hosts, and so are an IPv4 address and its IPv6 form `::ffff:a.b.c.d`.
package enum HostName {
    /// Returns the canonical spelling of a host, which is percent-decoded and may be an IPv6 address with or without brackets.
    ///
    /// - Letters are lowercase, and labels with non-ASCII letters are in Punycode (RFC 3492). Of the UTS 46 mappings, only lowercasing is
    ///   applied.
    /// - A final dot is removed if the name has another dot. Otherwise it means something: a resolver adds its search domains to `db`, but
    ///   not to `db.`.
    /// - An IPv4 address becomes four decimal numbers, whichever form of inet_aton(3) it had, because libcurl and browsers accept all of
    ///   them.
    /// - An IPv6 address is in RFC 5952 form, in brackets. Its zone stays as it is.
    package static func canonical(_ host: String) -> String {
        if isCanonicalName(host) || isDottedDecimal(host) { return host }
        if host.utf8.contains(UInt8(ascii: ":")) { return ipv6(host) }
        var name = host.lowercased()
        if !name.utf8.allSatisfy({ $0 < 0x80 }) { name = ascii(name) }
        if name.utf8.last == UInt8(ascii: "."), name.utf8.dropLast().contains(UInt8(ascii: ".")) { name.removeLast() }
        return ipv4(name).map(dotted) ?? name
    }

    /// Returns the canonical spelling of a host that a user typed, with its port if the text has one.
    package static func canonical(typed text: String) -> String {
        let isOneAddress = !text.hasPrefix("[") && text.count(where: { $0 == ":" }) > 1
        guard !isOneAddress, let url = URL(string: "http://\(text)"), let port = url.port else {
            return canonical(text)
        }
        return "\(url.canonicalHost):\(port)"
    }

    /// Whether a name consists only of lowercase letters, digits, hyphens and dots, doesn't end in a dot, and can't be an IPv4 address.
    /// Most names do.
    private static func isCanonicalName(_ host: String) -> Bool {
        var host = host
        return host.withUTF8 { bytes in
            var startsLabel = true
            var hasDigitFirst = false
            for byte in bytes {
                switch byte {
                case UInt8(ascii: "."): startsLabel = true
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
                    if startsLabel { hasDigitFirst = byte <= UInt8(ascii: "9") && byte != UInt8(ascii: "-") }
                    startsLabel = false
                default: return false
                }
            }
            return !startsLabel && !hasDigitFirst
        }
    }

    // MARK: Addresses

    /// Whether the text is an IPv4 address of four decimal numbers without leading zeros.
    private static func isDottedDecimal(_ host: String) -> Bool {
        var host = host
        return host.withUTF8 { bytes in
            var (dots, digits, number) = (0, 0, 0)
            for byte in bytes {
                if byte == UInt8(ascii: "."), digits > 0 {
                    (dots, digits, number) = (dots + 1, 0, 0)
                } else if isDigit(byte), digits == 0 || number > 0 {
                    (digits, number) = (digits + 1, number * 10 + Int(byte - UInt8(ascii: "0")))
                    if number > 255 { return false }
                } else {
                    return false
                }
            }
            return dots == 3 && digits > 0
        }
    }

    /// Returns the address in text such as `127.1` or `0x7f000001`, or `nil` if it isn't one.
    private static func ipv4(_ text: String) -> UInt64? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count <= 4, parts.last?.utf8.first.map(isDigit) == true else { return nil }
        var address: UInt64 = 0
        for (index, part) in parts.enumerated() {
            guard let number = number(part) else { return nil }
            // The last number fills the remaining bytes.
            let bytes = index == parts.count - 1 ? 4 - index : 1
            guard number < 1 << (8 * UInt64(bytes)) else { return nil }
            address = address << (8 * UInt64(bytes)) | number
        }
        return address
    }

    private static func dotted(_ address: UInt64) -> String {
        [24, 16, 8, 0].map { "\(address >> $0 & 255)" }.joined(separator: ".")
    }

    /// Returns a number in C syntax: hexadecimal after `0x`, octal after `0`.
    private static func number(_ text: Substring) -> UInt64? {
        guard let first = text.utf8.first, isDigit(first) else { return nil }
        if text.hasPrefix("0x") {
            // Swift would also accept a sign.
            let digits = text.dropFirst(2)
            return digits.allSatisfy(\.isHexDigit) ? UInt64(digits, radix: 16) : nil
        }
        return UInt64(text, radix: text.count > 1 && first == UInt8(ascii: "0") ? 8 : 10)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func ipv6(_ text: String) -> String {
        let isBracketed = text.hasPrefix("[") && text.hasSuffix("]")
        let text = isBracketed ? text.dropFirst().dropLast() : text[...]
        // Interface names can have uppercase letters (RFC 4007, section 11.2).
        let (address, zone) = (text.prefix { $0 != "%" }.lowercased(), text.drop { $0 != "%" })
        guard let groups = groups(address[...]) else { return "[\(address)\(zone)]" }
        // The first of the longest runs of at least two zeros becomes `::` (RFC 5952, section 4.2).
        var longest = 0..<0
        var start = 0
        for index in 0...8 where index == 8 || groups[index] != 0 {
            if index - start > max(longest.count, 1) { longest = start..<index }
            start = index + 1
        }
        func hexadecimal(_ range: Range<Int>) -> String {
            groups[range].map { String($0, radix: 16) }.joined(separator: ":")
        }
        let shown =
            longest.isEmpty
            ? hexadecimal(0..<8) : "\(hexadecimal(0..<longest.lowerBound))::\(hexadecimal(longest.upperBound..<8))"
        return "[\(shown)\(zone)]"
    }

    /// Returns the eight numbers of an IPv6 address (RFC 4291, section 2.2), or `nil` if the text isn't one.
    private static func groups(_ text: Substring) -> [UInt16]? {
        let sides = text.firstRange(of: "::").map { [text[..<$0.lowerBound], text[$0.upperBound...]] } ?? [text]
        var groups: [[UInt16]] = []
        for side in sides {
            groups.append([])
            let parts = side.split(separator: ":", omittingEmptySubsequences: side.isEmpty)
            for (index, part) in parts.enumerated() {
                let isLast = index == parts.count - 1 && groups.count == sides.count
                if isLast, part.count(where: { $0 == "." }) == 3, let address = ipv4(String(part)) {
                    groups[groups.count - 1] += [UInt16(address >> 16), UInt16(address & 0xFFFF)]
                } else {
                    guard part.count <= 4, part.allSatisfy(\.isHexDigit), let group = UInt16(part, radix: 16) else {
                        return nil
                    }
                    groups[groups.count - 1].append(group)
                }
            }
        }
        let missing = 8 - groups.joined().count
        guard groups.count == 2 else { return missing == 0 ? groups[0] : nil }
        return missing >= 1 ? groups[0] + [UInt16](repeating: 0, count: missing) + groups[1] : nil
    }

    // MARK: Internationalized names

    /// The longest label in a name (RFC 1035, section 2.3.4). Anything longer isn't a name.
    private static let longestLabel = 63

    private static func ascii(_ name: String) -> String {
        // The other full stops come from UTS 46.
        name.unicodeScalars.split(omittingEmptySubsequences: false) {
            ".\u{3002}\u{FF0E}\u{FF61}".unicodeScalars.contains($0)
        }
        .map { label in
            label.allSatisfy(\.isASCII) || label.count > longestLabel
                ? String(Substring(label)) : "xn--\(punycode(label.map { Int($0.value) }))"
        }.joined(separator: ".")
    }

    /// Encodes a label (RFC 3492, section 6.3).
    private static func punycode(_ label: [Int]) -> String {
        func digit(_ value: Int) -> UInt8 {
            value < 26 ? UInt8(ascii: "a") + UInt8(value) : UInt8(ascii: "0") + UInt8(value - 26)
        }
        var text = label.filter { $0 < 0x80 }.map { UInt8($0) }
        let basic = text.count
        if basic > 0 { text.append(UInt8(ascii: "-")) }
        var (number, delta, bias, handled) = (0x80, 0, 72, basic)
        while handled < label.count, let next = label.filter({ $0 >= number }).min() {
            delta += (next - number) * (handled + 1)
            number = next
            for scalar in label {
                if scalar < number { delta += 1 }
                guard scalar == number else { continue }
                var (rest, position) = (delta, 36)
                while true {
                    let threshold = min(max(position - bias, 1), 26)
                    if rest < threshold { break }
                    text.append(digit(threshold + (rest - threshold) % (36 - threshold)))
                    rest = (rest - threshold) / (36 - threshold)
                    position += 36
                }
                text.append(digit(rest))
                // Section 6.1.
                delta = delta / (handled == basic ? 700 : 2)
                delta += delta / (handled + 1)
                var steps = 0
                while delta > 455 { (delta, steps) = (delta / 35, steps + 36) }
                (bias, delta, handled) = (steps + 36 * delta / (delta + 38), 0, handled + 1)
            }
            (delta, number) = (delta + 1, number + 1)
        }
        return String(decoding: text, as: UTF8.self)
    }
}

extension URL {
    /// The host in its canonical spelling (``HostName``); empty if there is none.
    package var canonicalHost: String {
        HostName.canonical(
            PlainURL(self)?.host ?? host(percentEncoded: false) ?? host(percentEncoded: true) ?? "")
    }

    /// The canonical host, with the port unless it is the scheme's default. Per-host limits and circuit breakers count by it.
    package var canonicalHostAndPort: String {
        if let plain = PlainURL(self) {
            let host = HostName.canonical(plain.host)
            return plain.port.map { $0 == (plain.isSecure ? 443 : 80) ? host : "\(host):\($0)" } ?? host
        }
        let host = canonicalHost
        return port.map { $0 == defaultPort ? host : "\(host):\($0)" } ?? host
    }

    /// The origin (RFC 6454): scheme, host and port. A request's secrets are sent only to its origin.
    package var origin: String { "\(scheme?.lowercased() ?? "")://\(canonicalHost):\(effectivePort)" }

    var effectivePort: Int { port ?? defaultPort }

    private var defaultPort: Int { scheme?.lowercased() == "https" ? 443 : 80 }
}
