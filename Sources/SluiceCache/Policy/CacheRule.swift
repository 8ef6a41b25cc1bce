/// The rules of ``CachePolicy``, with the sections of RFC 9111 (and of RFC 9110, 5861 and 8246) that state them.
///
/// All rules apply. A test switches each one off in turn, and expects that a case of its table then fails.
enum CacheRule: Int, CaseIterable, Sendable {
    // MARK: Storing

    /// A response with `no-store` isn't stored (5.2.2.5).
    case responseNoStore
    /// The response to a request with `no-store` isn't stored (5.2.1.5).
    case requestNoStore
    /// `must-understand` overrides `no-store` if the cache knows the status, and forbids storing otherwise (5.2.2.3).
    case mustUnderstand
    /// A status that isn't cacheable by itself needs explicit freshness, `public` or `private` (3).
    case unknownStatusNeedsPermission
    /// A response about the conditions of its request (304, 412, 416) isn't stored (3, RFC 9110 13.2).
    case answersToConditions
    /// Fields that describe the connection aren't stored (3.1).
    case connectionFields
    /// Fields that `Connection` names aren't stored (3.1, RFC 9110 7.6.1).
    case namedByConnection
    /// A response gets a `Date` if it has none or an invalid one (RFC 9110 6.6.1).
    case addedDate
    /// A response with `Vary: *` isn't stored, because it never matches a request (4.1).
    case varyStar
    /// A response that can neither be used nor validated isn't stored.
    case usefulOnly
    /// A response to `POST` is stored only with a `Content-Location` that is the URL of the request (RFC 9110 9.3.3).
    case postNeedsLocation
    /// A response to `POST` is stored only with explicit freshness (RFC 9110 9.3.3).
    case postNeedsFreshness

    // MARK: Freshness

    /// Commas in quoted strings don't separate directives (5.2).
    case quotedCommas
    /// The number of a directive may be a quoted string (5.2).
    case quotedNumbers
    /// A number of seconds that is too large counts as 2³¹ (1.2.2).
    case largeNumbers
    /// A `max-age` that isn't a number counts as zero (4.2.1).
    case invalidMaxAge
    /// Two different values of `max-age` count as zero (4.2.1).
    case contradictions
    /// `max-age` overrides `Expires` (5.3).
    case maxAgeFirst
    /// An `Expires` that isn't a date means that the response is stale (5.3).
    case invalidExpires
    /// A lifetime is estimated only for statuses that are cacheable by themselves, and for `public` responses (4.2.2).
    case heuristicStatuses
    /// An estimated lifetime has a limit (4.2.2).
    case heuristicLimit
    /// The time since `Date` is an age (4.2.3).
    case apparentAge
    /// The `Age` field is an age at the time of sending (4.2.3).
    case ageField
    /// The first of several values of `Age` counts (5.1).
    case firstAge
    /// The time between the request and the response adds to the `Age` field (4.2.3).
    case responseDelay
    /// A response that arrived in the future has an unknown age (4.2.3).
    case clockSetBack

    // MARK: Reuse

    /// Only `GET` and `HEAD` use stored responses (4, RFC 9110 9.3.3).
    case safeMethodsOnly
    /// A response with `no-cache` is validated before each use (5.2.2.4).
    case responseNoCache
    /// `no-cache` with field names only removes these fields from a response that isn't validated (5.2.2.4).
    case noCacheFields
    /// A request with `no-cache` isn't answered without validation (5.2.1.4).
    case requestNoCache
    /// `Pragma: no-cache` counts as `no-cache` if the request has no `Cache-Control` (5.4).
    case pragma
    /// A request's `max-age` limits the age (5.2.1.1).
    case requestMaxAge
    /// A request's `min-fresh` requires a remaining lifetime (5.2.1.3).
    case minFresh
    /// A request's `max-stale` accepts a stale response (5.2.1.2).
    case maxStale
    /// A request with `only-if-cached` isn't forwarded (5.2.1.7).
    case onlyIfCached
    /// A response with `must-revalidate` isn't used while it is stale (5.2.2.2).
    case mustRevalidate
    /// A stale response is used while it is validated in the background (RFC 5861, 3).
    case staleWhileRevalidate
    /// A stale response is used if the server fails (RFC 5861, 4).
    case staleIfError
    /// A fresh `immutable` response isn't validated because of a request's `max-age` (RFC 8246, 2).
    case immutable
    /// A stored response is sent with its `Age` (4).
    case generatedAge

    // MARK: Variants

    /// The fields that `Vary` names must match (4.1).
    case vary
    /// A matching response with `Vary` precedes one without (4.1).
    case varyFirst
    /// The most recent of several matching responses is used (4).
    case mostRecent
    /// A response to a request with `Authorization` is only for requests with the same credentials. A private cache may ignore them (3.5), but
    /// its user may have several accounts.
    case authorization
    /// White space in lists, and the number of lines, don't matter to `Vary` (4.1).
    case varyWhitespace
    /// The order, case and form of preferences such as `Accept-Language` don't matter to `Vary` (4.1).
    case varyPreferences

    // MARK: Validation

    /// A validation names the entity tag (4.3.1).
    case entityTags
    /// A validation names the date of the last modification (4.3.1).
    case modificationDates
    /// A request that no variant matches names the entity tags of all variants (4.3.1).
    case tagsOfVariants
    /// The client's entity tags are sent along with the cache's (4.3.2).
    case tagsOfClient
    /// A 304 with a strong validator confirms only responses with the same one (4.3.4).
    case strongConfirmation
    /// An update leaves the fields that describe the stored bytes (3.2).
    case fieldsOfBody
    /// The cache answers a request with `If-None-Match` (4.3.2).
    case clientTags
    /// The cache answers a request with `If-Modified-Since` (4.3.2).
    case clientDates
    /// `If-Match` and `If-Unmodified-Since` are for the origin server (4.3.2).
    case originConditions
    /// A response to `HEAD` updates a stored response to `GET`, or removes it if their validators or lengths differ (4.3.5).
    case headUpdates

    // MARK: Invalidation

    /// A successful request with an unsafe method invalidates its URL (4.4).
    case unsafeMethods
    /// A failed request with an unsafe method invalidates nothing (4.4).
    case failuresInvalidateNothing
    /// It also invalidates the URLs in `Location` and `Content-Location` (4.4).
    case relatedURLs
    /// It invalidates only URLs of its origin (4.4).
    case sameOrigin

    // MARK: Ranges

    /// A range is served from a whole response (RFC 9110, 14.2).
    case rangesOfWhole
    /// A part isn't used in place of the whole (3.3).
    case partsAreNotWhole
    /// `If-Range` with another validator requests the whole (RFC 9110, 13.1.5).
    case ifRange
    /// What has arrived of a response that was cut off is a part (3.3).
    case cutOffParts
    /// Parts are combined only if they have the same strong validator (3.4).
    case strongCombination
}

/// A set of rules.
struct CacheRules: Sendable, Hashable {
    private var bits: UInt128

    static let all = CacheRules(bits: .max)

    subscript(rule: CacheRule) -> Bool { bits & 1 << UInt128(rule.rawValue) != 0 }

    func without(_ rule: CacheRule) -> CacheRules { CacheRules(bits: bits & ~(1 << UInt128(rule.rawValue))) }
}
