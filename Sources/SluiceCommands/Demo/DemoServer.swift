import HTTPTypes
import LoopbackOrigin

/// The responses of the demo's server. Most are normal; some have the faults of servers on the internet.
struct DemoServer: Sendable {
    let catalog: DemoCatalog
    /// The number of an item that gets one wrong byte, to test that the demo finds it; `nil` for none.
    let corrupted: Int?

    enum Mood: Equatable {
        case well
        /// The bytes arrive in pieces with pauses.
        case slow
        /// The first request is answered with 503 and `Retry-After: 0`.
        case busyAtFirst
        /// The first response ends halfway.
        case brokenAtFirst
        /// The first connection is reset in the middle of the body.
        case resetAtFirst
        case moved
        /// The length isn't announced.
        case unannounced
    }

    /// Returns how the server treats an item, which depends only on its number.
    static func mood(of number: Int) -> Mood {
        switch number % 30 {
        case 3, 13, 23: .slow
        case 6: .busyAtFirst
        case 11: .brokenAtFirst
        case 17: .resetAtFirst
        case 21: .moved
        case 26: .unannounced
        default: .well
        }
    }

    func answer(_ request: OriginRequest) -> OriginResponse {
        let path = request.target.split(separator: "/")
        guard let name = path.last, let item = catalog.items.first(where: { $0.name == name }) else {
            return OriginResponse(status: 404)
        }
        var content = catalog.content(of: item)
        if item.number == corrupted { content[content.count / 2] ^= 1 }
        let mood = Self.mood(of: item.number)
        let isFirst = request.attempt == 1
        switch mood {
        case .moved where path.first != "moved":
            return .redirect(to: "/moved/\(item.name)")
        case .busyAtFirst where isFirst:
            return OriginResponse(status: 503, headerFields: [.retryAfter: "0"])
        case .brokenAtFirst where isFirst, .resetAtFirst where isFirst:
            let half = Array(content.prefix(content.count / 2))
            return OriginResponse(
                announcedLength: content.count,
                steps: [.send(half), .pause(.milliseconds(5)), mood == .resetAtFirst ? .reset : .hangUp])
        case .slow:
            let piece = max(content.count / 20, 1)
            let steps = stride(from: 0, to: content.count, by: piece).flatMap { start in
                [.send(Array(content[start..<min(start + piece, content.count)])), .pause(.milliseconds(25))]
                    as [OriginResponse.Step]
            }
            return OriginResponse(announcedLength: content.count, steps: steps)
        case .unannounced:
            return OriginResponse(announcedLength: nil, steps: [.send(content)])
        default:
            return OriginResponse(body: content)
        }
    }
}

// MARK: - The files

/// The songs and images of the demo's server: valid WAV and BMP files, computed from their numbers.
///
/// The same number always gives the same bytes, so that downloads can be compared with the expected bytes.
struct DemoCatalog: Sendable {
    struct Item: Sendable, Equatable {
        var number: Int
        var name: String

        var isImage: Bool { name.hasSuffix(".bmp") }
    }

    /// The files: 240 songs and 60 images by default.
    let items: [Item]

    init(count: Int = 300) {
        items = (0..<count).map { number in
            let digits = String(number + 1001).dropFirst()
            return Item(number: number, name: number % 5 == 4 ? "cover-\(digits).bmp" : "song-\(digits).wav")
        }
    }

    func content(of item: Item) -> [UInt8] {
        item.isImage ? Self.image(item.number) : Self.song(item.number)
    }

    // MARK: Songs

    private static let sampleRate = 8000

    /// A short tune: 16-bit mono at 8 kHz, in a RIFF WAVE file ("Multimedia Programming Interface and Data Specifications 1.0", 1991). Most
    /// tunes last one to four seconds, some 90 seconds.
    private static func song(_ number: Int) -> [UInt8] {
        let seconds = number % 40 == 1 ? 90 : 1 + number % 4
        let bytes = sampleRate * seconds * 2
        var file: [UInt8] = []
        file.reserveCapacity(44 + bytes)
        file += Array("RIFF".utf8)
        file.append(littleEndian: UInt32(36 + bytes))
        file += Array("WAVEfmt ".utf8)
        file.append(littleEndian: UInt32(16))
        file.append(littleEndian: UInt16(1))  // PCM
        file.append(littleEndian: UInt16(1))  // channels
        file.append(littleEndian: UInt32(sampleRate))
        file.append(littleEndian: UInt32(sampleRate * 2))
        file.append(littleEndian: UInt16(2))  // bytes per frame
        file.append(littleEndian: UInt16(16))  // bits per sample
        file += Array("data".utf8)
        file.append(littleEndian: UInt32(bytes))
        // A random walk over the scale, four notes per second.
        var random = DemoRandom(seed: UInt64(number))
        var step = number % notes.count
        for _ in 0..<seconds * 4 {
            step = min(max(step + Int(random.next() % 5) - 2, 0), notes.count - 1)
            file += notes[step]
        }
        return file
    }

    /// A quarter of a second of each tone in a pentatonic scale from A3 to A5, as triangle waves that fade out.
    private static let notes: [[UInt8]] = [220, 262, 294, 330, 392, 440, 523, 587, 659, 784, 880].map { hertz in
        let length = sampleRate / 4
        var note: [UInt8] = []
        note.reserveCapacity(length * 2)
        for sample in 0..<length {
            let position = sample * hertz % sampleRate * 24_000 / sampleRate
            let wave = position < 12_000 ? position - 6_000 : 18_000 - position
            note.append(littleEndian: UInt16(bitPattern: Int16(wave * (length - sample) / length)))
        }
        return note
    }

    // MARK: Images

    /// 96 × 96 pixels in 24 bits, in a BMP file (BITMAPINFOHEADER).
    private static func image(_ number: Int) -> [UInt8] {
        let side = 96
        let pixels = side * side * 3  // a row of 288 bytes needs no padding to a multiple of 4
        var file = Array("BM".utf8)
        file.reserveCapacity(54 + pixels)
        file.append(littleEndian: UInt32(54 + pixels))
        file.append(littleEndian: UInt32(0))
        file.append(littleEndian: UInt32(54))
        file.append(littleEndian: UInt32(40))
        file.append(littleEndian: UInt32(side))
        file.append(littleEndian: UInt32(side))
        file.append(littleEndian: UInt16(1))  // planes
        file.append(littleEndian: UInt16(24))  // bits per pixel
        file.append(littleEndian: UInt32(0))  // not compressed
        file.append(littleEndian: UInt32(pixels))
        file.append(littleEndian: UInt32(2835))  // pixels per meter
        file.append(littleEndian: UInt32(2835))
        file.append(littleEndian: UInt32(0))
        file.append(littleEndian: UInt32(0))
        for y in 0..<side {
            for x in 0..<side {
                let ring = ((x - 48) * (x - 48) + (y - 48) * (y - 48)) / (8 + number % 32)
                file.append(UInt8(truncatingIfNeeded: x * 2 + number * 7))
                file.append(UInt8(truncatingIfNeeded: ring * 4))
                file.append(UInt8(truncatingIfNeeded: y * 2 + number * 3))
            }
        }
        return file
    }
}

extension [UInt8] {
    fileprivate mutating func append(littleEndian value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
    }
}

/// SplitMix64 (Steele, Lea and Flood, 2014), which generates the same numbers from the same seed on every machine.
private struct DemoRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
