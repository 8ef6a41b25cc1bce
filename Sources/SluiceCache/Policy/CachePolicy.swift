import HTTPTypes
import SluiceHTTP

/// The decisions of a private cache by RFC 9111, without I/O, clock or tasks.
///
/// The cache asks twice. Before it sends a request, ``decision(for:mode:stored:at:)`` tells whether a stored response answers it. When a
/// response has arrived, ``outcome(of:stored:)`` tells what to store, update and remove, and
/// what the caller gets.
///
/// ```text
/// request ─▶ decision ─┬─ serve, serveAndRevalidate ──────────────────▶ caller
///                      ├─ fetch, validate, complete ─▶ server ─▶ outcome ─▶ store, caller
///                      │                               (failed) ─▶ staleResponse ─▶ caller
///                      └─ fail (504) ─────────────────────────────────▶ caller
/// ```
///
/// - `stored` has all stored responses of the request's URL: one for each variant (`Vary`). The decisions name them by index.
/// - A cache of one user may store responses to requests with `Authorization`, and responses with `Set-Cookie` (sections 3.5 and 7.3). The
///   former are only for requests with the same credentials.
/// - Responses to `HEAD` aren't stored; they update stored responses to `GET`. Interim responses (1xx) are never stored.
/// - Parts are stored: those of a 206, and what has arrived of a response that was cut off. Each variant has one contiguous part.
struct CachePolicy: Sendable {
    /// The longest lifetime in seconds of a response that states none.
    var maximumHeuristicLifetime: Int64 = 86_400
    /// Whether stored responses are used forever, for URLs whose content never changes.
    var isImmutable = false
    /// Random bytes for the digests of the request fields that stored responses depend on (``Variant``).
    var salt: [UInt8] = []
    var rules = CacheRules.all

    /// The largest number of stored responses for one URL. A server that varies by `User-Agent` would otherwise fill the cache.
    static let maximumVariants = 16

    typealias LookupMode = ResourceCache.LookupMode

    /// What to do with a request.
    enum Decision: Sendable, Hashable {
        /// Answer with a stored response.
        case serve(Int, Served)
        /// Answer with a stored response, and then send the request with these fields in the background.
        case serveAndRevalidate(Int, Served, HTTPFields)
        /// Send the request as it is.
        case fetch
        /// Send the request with these fields, so that the server can confirm a stored response (304).
        case validate(HTTPFields)
        /// Send the request with these fields for the missing rest of a stored part.
        case complete(HTTPFields)
        /// Answer with 504, because nothing suitable is stored.
        case fail
    }

    /// An answer from a stored response.
    struct Served: Sendable, Hashable {
        var status: Int
        var fields: HTTPFields
        /// The bytes of the stored body that the answer has.
        var bytes: Range<Int64>
    }

    /// A request and its response.
    struct Exchange: Sendable {
        /// The request of the caller.
        var request: TransportRequest
        var mode = LookupMode.useCache
        /// The fields with which the request was sent: those of the decision, or the caller's.
        var sent: HTTPFields
        var response: HTTPResponse
        /// The length of the body that has arrived.
        var bodyLength: Int64
        /// Whether the whole body has arrived.
        var isComplete = true
        var requested: HTTPDate
        var received: HTTPDate

        /// Whether the request was sent for the missing rest of a part.
        var isCompletion: Bool { sent[.range] != request.headerFields[.range] }
    }

    /// What a response changes, and what the caller gets.
    struct Outcome: Sendable {
        /// A response to store for the URL of the request.
        struct Addition: Sendable {
            var head: StoredResponse.Head
            var body: [Piece]
        }

        /// Bytes of the response, or of a stored response.
        enum Piece: Sendable, Hashable {
            case response
            case stored(Int, Range<Int64>)
        }

        enum Answer: Sendable, Hashable {
            /// The response itself.
            case response
            /// A stored response, updated or stale.
            case stored(Int, Served)
            /// The response in ``Outcome/addition``, which completes a part.
            case addition(Served)
            /// None yet: send the request again as it is, because the server has confirmed an unknown response.
            case again
            /// None yet: the final response follows.
            case interim
        }

        var answer: Answer
        /// New heads of stored responses, by index.
        var updates: [Int: StoredResponse.Head] = [:]
        /// The stored responses to remove.
        var removals: Set<Int> = []
        var addition: Addition?
        /// The URLs whose stored responses must all be removed. If the URL of the request is among them, remove them before the addition.
        var invalidations: Set<ResourceKey> = []
    }
}
