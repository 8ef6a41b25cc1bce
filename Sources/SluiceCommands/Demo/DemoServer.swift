import HTTPTypes
import LoopbackOrigin

/// The responses of the demo's server. Most are regular; some have the faults of servers on the internet.
struct DemoServer: Sendable {
    let catalogue: DemoCatalogue
    /// The number of an item with one wrong byte, for the test that the demo notices it; `nil` for none.
    let corrupted: Int?

    enum Mood: Equatable {
        case well
        /// The bytes arrive in pieces with pauses.
        case slow
        /// The first request is answered with 503 and `Retry-After: 0`.
        case busyAtFirst
        /// The first response ends halfway.
        case brokenAtFirst
        /// The first connection is reset within the body.
        case resetAtFirst
        case moved
        /// The length isn't announced.
        case unannounced
    }

    /// Depends only on the number.
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

    /// The number of attempts that fail on purpose when every item is downloaded.
    var expectedRetries: Int {
        catalogue.items.count { [.busyAtFirst, .brokenAtFirst, .resetAtFirst].contains(Self.mood(of: $0.number)) }
    }

    func answer(_ request: OriginRequest) -> OriginResponse {
        let path = request.target.split(separator: "/")
        guard let name = path.last, let item = catalogue.items.first(where: { $0.name == name }) else {
            return OriginResponse(status: 404)
        }
        var content = catalogue.content(of: item)
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
