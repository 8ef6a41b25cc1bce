/// Which responses are stored, and what of them (RFC 9111, sections 3, 3.1, 3.5, 5.2.1.5, 5.2.2).
let storingCases = #"""
    # 3 A response with explicit freshness is stored
    GET -> fetch <- 200 {Cache-Control: max-age=60}
    GET -> serve => 200 "1"

    # 3 A response that can't be used later isn't stored: $
    for: {X: a} ;; {Cache-Control: max-age=0} ;; {Expires: 0} ;; {Cache-Control: private} ;; {Cache-Control: public} ;; {Cache-Control: no-cache}
    GET -> fetch <- 200 $
    GET (cacheOnly) -> fail

    # 3 A stale response with a validator is stored: $
    for: ETag: "a" ;; ETag: W/"a" ;; Last-Modified: @-86400
    GET -> fetch <- 200 {Cache-Control: max-age=0 | $}
    GET (cacheOnly) -> serve => 200 "1"

    # 3 A response that may be used while stale is stored: $
    for: stale-while-revalidate=60 ;; stale-if-error=60
    GET -> fetch <- 200 {Cache-Control: max-age=0, $}
    GET (cacheOnly) -> serve => 200 "1"

    # 9110 15.1 Status $ is heuristically cacheable
    for: 200 ;; 203 ;; 204 ;; 300 ;; 301 ;; 308 ;; 404 ;; 405 ;; 410 ;; 414 ;; 501
    GET -> fetch <- $ {Last-Modified: @-1000}
    GET -> serve => $

    # 9110 15.1 Status $ isn't heuristically cacheable
    for: 201 ;; 202 ;; 302 ;; 303 ;; 307 ;; 400 ;; 403 ;; 418 ;; 451 ;; 500 ;; 503 ;; 599
    GET -> fetch <- $ {Last-Modified: @-1000 | ETag: "a"}
    GET (cacheOnly) -> fail

    # 3 Status $ is stored with explicit freshness
    for: 201 ;; 302 ;; 303 ;; 307 ;; 403 ;; 418 ;; 500 ;; 599
    GET -> fetch <- $ {Cache-Control: max-age=60}
    +59 GET -> serve => $ "1"
    +1 GET -> fetch

    # 3 An unknown status is stored with $
    for: Expires: @60 ;; Cache-Control: public | Last-Modified: @-1000 ;; Cache-Control: private | ETag: "a"
    GET -> fetch <- 599 {$}
    GET (cacheOnly) -> serve => 599 "1"

    # 3 An interim response isn't the answer and isn't stored
    GET -> fetch <- 103 {Cache-Control: max-age=600} <- 200 {Cache-Control: max-age=60} => 200 "1"
    +59 GET -> serve => 200 "1"
    +1 GET -> fetch

    # 3 A response about the conditions of its request isn't stored: $
    for: 412 ;; 416
    GET -> fetch <- $ {Cache-Control: max-age=60}
    GET -> fetch

    # 3 An unexpected 304 isn't stored
    GET {If-None-Match: "x"} -> fetch <- 304 {Cache-Control: max-age=60 | ETag: "x"} => 304
    GET -> fetch

    # 5.2.2.5 A response with no-store isn't stored: $
    for: no-store ;; No-Store ;; max-age=60, no-store ;; no-store=1, max-age=60 ;; max-age=60 , , no-store
    GET -> fetch <- 200 {Cache-Control: $ | ETag: "a"}
    GET -> fetch

    # 5.2.2.5 A quoted no-store isn't a directive
    GET -> fetch <- 200 {Cache-Control: max-age=60, x="a, no-store"}
    GET -> serve

    # 5.2 An unterminated quoted string doesn't hide directives
    GET -> fetch <- 200 {Cache-Control: max-age=60, x="a, no-store}
    GET -> fetch

    # 5.2.2.5 A response with no-store removes the older one
    GET -> fetch <- 200 {Cache-Control: no-cache | ETag: "a"}
    GET -> validate {If-None-Match: "a"} <- 200 {Cache-Control: no-store}
    GET (cacheOnly) -> fail
    GET -> fetch

    # 5.2.1.5 The response to a request with no-store isn't stored
    GET {Cache-Control: no-store} -> fetch <- 200 {Cache-Control: max-age=60}
    GET -> fetch

    # 5.2.1.5 A request with no-store uses a stored response
    GET -> fetch <- 200 {Cache-Control: max-age=60}
    GET {Cache-Control: no-store} -> serve => 200 "1"

    # 5.2.1.5 A 304 to a request with no-store updates nothing
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    +60 GET {Cache-Control: no-store} -> validate {If-None-Match: "a"} <- 304 {ETag: "a"} => 200 "1"
    GET -> validate {If-None-Match: "a"}

    # 5.2.2.3 A response with must-understand and a known status is stored despite no-store
    GET -> fetch <- 200 {Cache-Control: max-age=60, must-understand, no-store}
    GET -> serve => 200 "1"

    # 5.2.2.3 A response with must-understand and an unknown status isn't stored
    GET -> fetch <- 599 {Cache-Control: max-age=60, must-understand}
    GET -> fetch

    # 5.2.2.7 A private response is stored
    GET -> fetch <- 200 {Cache-Control: private, max-age=60}
    GET -> serve

    # 5.2.2.7 A response with private fields is stored with them
    GET -> fetch <- 200 {Cache-Control: private="X-A", max-age=60 | X-A: 1}
    GET -> serve => 200 {X-A: 1}

    # 9213 3.1 A private cache ignores fields for shared caches: $
    for: CDN-Cache-Control: max-age=60 ;; Surrogate-Control: max-age=60
    GET -> fetch <- 200 {$}
    GET -> fetch

    # 9213 3.1 A field for shared caches changes nothing
    GET -> fetch <- 200 {Cache-Control: max-age=60 | CDN-Cache-Control: no-store}
    GET -> serve => 200 "1"

    # 3.5 A response to a request with Authorization is stored for the user
    GET {Authorization: Basic YTpi} -> fetch <- 200 {Cache-Control: max-age=60}
    GET {Authorization: Basic YTpi} -> serve => 200 "1"

    # 3.5 A response to a request with Authorization is only for the same credentials: $
    for: {Authorization: Basic Yjpi} ;; {Authorization: basic YTpi} ;; {X: a} ;; {Authorization: Basic Yjpi | If-None-Match: *}
    GET {Authorization: Basic YTpi} -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    GET $ -> fetch
    GET {Authorization: Basic YTpi} -> serve => 200 "1"

    # 3.5 Responses for different credentials are stored side by side
    GET {Authorization: Basic YTpi} -> fetch <- 200 {Cache-Control: max-age=60}
    GET {Authorization: Basic Yjpi} -> fetch <- 200 {Cache-Control: max-age=60}
    GET -> fetch <- 200 {Cache-Control: max-age=60}
    GET {Authorization: Basic YTpi} -> serve => 200 "1"
    GET {Authorization: Basic Yjpi} -> serve => 200 "2"
    GET -> serve => 200 "3"

    # 3.5 A response for all users is used for a request with Authorization
    GET -> fetch <- 200 {Cache-Control: max-age=60}
    GET {Authorization: Basic YTpi} -> serve => 200 "1"

    # 3.5 The tags of another user's responses aren't sent, and a 304 confirms none of them: $
    for: Cache-Control: max-age=60 ;; Cache-Control: max-age=60 | Vary: Authorization
    GET {Authorization: Basic YTpi} -> fetch <- 200 {ETag: "a" | $}
    GET {Authorization: Basic Yjpi} -> fetch <- 200 {ETag: "a" | $}
    +60 GET {Authorization: Basic Yjpi} -> validate {If-None-Match: "a"} <- 304 {ETag: "a"} => 200 "2"
    GET {Authorization: Basic YTpi} -> validate {If-None-Match: "a"} <- 304 => 200 "1"

    # 7.3 A response with Set-Cookie is stored for the user
    GET -> fetch <- 200 {Cache-Control: max-age=60 | Set-Cookie: a=b | Set-Cookie: c=d}
    GET -> serve => 200 "1"

    # 5.2.3 Unknown directives are ignored: $
    for: foo ;; foo=bar ;; foo="max-age=1" ;; s-maxage=1 ;; proxy-revalidate ;; no-transform ;; max-age-x=1
    GET -> fetch <- 200 {Cache-Control: max-age=60, $}
    +59 GET -> serve

    # 3.1 The field isn't stored: $
    for: Keep-Alive ;; Proxy-Connection ;; Proxy-Authenticate ;; Proxy-Authorization ;; Proxy-Authentication-Info ;; TE ;; Trailer ;; Transfer-Encoding ;; Upgrade ;; Connection
    GET -> fetch <- 200 {Cache-Control: max-age=60 | $: x}
    GET -> serve => 200 {!$}

    # 3.1 Fields that Connection names aren't stored
    GET -> fetch <- 200 {Cache-Control: max-age=60 | Connection: close, X-A | Connection: x-b | X-A: 1 | X-B: 2 | X-C: 3}
    GET -> serve => 200 {!Connection | !X-A | !X-B | X-C: 3}

    # 3.1 However many they are
    GET -> fetch <- 200 {Cache-Control: max-age=60 | Connection: a, b, c, d, e, f | A: 1 | B: 1 | B: 2 | C: 1 | D: 1 | E: 1 | F: 1 | G: 1}
    GET -> serve => 200 {!Connection | !A | !B | !C | !D | !E | !F | G: 1}

    # 9110 7.6.1 A field for all recipients isn't a connection field: $
    for: Cache-Control: no-store, max-age=60 ;; Expires: 0 ;; Vary: * | Cache-Control: max-age=60
    GET -> fetch <- 200 {$ | Connection: cache-control, expires, vary}
    GET -> fetch

    # 3.1 Fields that describe the content are stored: $
    for: Content-Type ;; Content-Encoding ;; Content-Language ;; Content-Disposition ;; Link ;; X-Unknown ;; Set-Cookie
    GET -> fetch <- 200 {Cache-Control: max-age=60 | $: x}
    GET -> serve => 200 {$: x}

    # 9110 6.6.1 A response without a date gets one
    GET -> fetch <- 200 {Cache-Control: max-age=60}
    +5 GET -> serve => 200 {Date: @-5}

    # 9110 6.6.1 An invalid date is replaced
    GET -> fetch <- 200 {Cache-Control: max-age=60 | Date: yesterday}
    +5 GET -> serve => 200 {Date: @-5}

    # 9110 6.6.1 The server's date is kept
    GET -> fetch <- 200 {Cache-Control: max-age=60 | Date: @-10}
    GET -> serve => 200 {Date: @-10}

    # 9110 9.3.2 A response to HEAD isn't stored
    HEAD -> fetch <- 200 {Cache-Control: max-age=60}
    GET -> fetch
    HEAD -> fetch

    # 9110 9.3.2 HEAD uses a stored response to GET
    GET -> fetch <- 200 {Cache-Control: max-age=60 | X: a}
    HEAD -> serve => 200 "" {X: a}

    # 9110 9.3.3 A response to POST that describes its URL is used by $
    for: GET ;; HEAD
    POST /a -> fetch <- 200 {Cache-Control: max-age=60 | Content-Location: /a}
    $ /a -> serve => 200

    # 9110 9.3.3 The URL of a response to POST may be absolute
    POST /a -> fetch <- 200 {Cache-Control: max-age=60 | Content-Location: http://example.test/a}
    GET /a -> serve => 200 "1"

    # 9110 9.3.3 A response to POST isn't stored: $
    for: {Cache-Control: max-age=60} ;; {Cache-Control: max-age=60 | Content-Location: /b} ;; {Content-Location: /a | Last-Modified: @-1000} ;; {Content-Location: /a | Cache-Control: max-age=60, no-store}
    POST /a -> fetch <- 200 $
    GET /a -> fetch
    GET /b -> fetch

    # 9110 9.3.3 POST isn't answered from the cache
    POST /a -> fetch <- 200 {Cache-Control: max-age=60 | Content-Location: /a}
    POST /a -> fetch <- 200

    # 4 The response to $ isn't stored
    for: PUT ;; DELETE ;; PATCH ;; OPTIONS ;; TRACE ;; FOO
    $ /a -> fetch <- 200 {Cache-Control: max-age=60 | Content-Location: /a}
    GET /a -> fetch

    # 2 Another query is another resource
    GET /a?b -> fetch <- 200 {Cache-Control: max-age=60}
    GET /a?c -> fetch
    GET /a -> fetch
    GET /a?b#c -> serve

    # 3 A newer response replaces the older one
    GET -> fetch <- 200 {Cache-Control: max-age=60}
    +60 GET -> fetch <- 200 {Cache-Control: max-age=60}
    GET -> serve => 200 "2"

    # 3 A response that can't be stored removes the older one: $
    for: 200 ;; 302 ;; 404 ;; 410
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    +60 GET -> validate {If-None-Match: "a"} <- $ {Cache-Control: no-store}
    GET -> fetch

    # 3 An error that can't be stored doesn't remove the older response: $
    for: 403 ;; 429 ;; 500
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    +60 GET -> validate {If-None-Match: "a"} <- $
    GET -> validate {If-None-Match: "a"}
    """#

// MARK: - Freshness

/// How long a response is fresh (RFC 9111, sections 1.2.2, 4.2, 5.1, 5.2 and 5.3).
let freshnessCases = #"""
    # 5.2.2.1 A response is fresh for its max-age: $
    for: max-age=60 ;; MAX-AGE=60 ;; Max-Age="60" ;; public , max-age=60 ;; max-age=60, max-age=60 ;; ,,max-age=60,, ;; max-age=060 ;; x="a,max-age=5", max-age=60
    GET -> fetch <- 200 {Cache-Control: $}
    +59 GET -> serve => 200 "1"
    +1 GET -> fetch

    # 5.2.2.1 Several lines are one list
    GET -> fetch <- 200 {Cache-Control: private | Cache-Control: max-age=60}
    +59 GET -> serve
    +1 GET -> fetch

    # 4.2.1 An invalid max-age means stale: $
    for: max-age ;; max-age= ;; max-age=-1 ;; max-age=1.5 ;; max-age=x ;; max-age=60s ;; max-age='60' ;; max-age="" ;; max-age= 60 ;; max-age =60 ;; max-age=+60
    GET -> fetch <- 200 {Cache-Control: $ | Last-Modified: @-100000 | Expires: @600}
    GET -> validate {If-Modified-Since: @-100000}

    # 4.2.1 Contradictory values mean stale: $
    for: max-age=60, max-age=30 ;; max-age=30, max-age=60 ;; max-age=60, max-age=x
    GET -> fetch <- 200 {Cache-Control: $ | ETag: "a"}
    GET -> validate {If-None-Match: "a"}

    # 1.2.2 A number that is too large counts as 2^31: $
    for: 2147483648 ;; 2147483649 ;; 9223372036854775808 ;; 99999999999999999999999999
    GET -> fetch <- 200 {Cache-Control: max-age=$}
    +2147483647 GET -> serve
    +1 GET -> fetch

    # 1.2.2 An age that is too large counts as 2^31
    GET -> fetch <- 200 {Cache-Control: max-age=60 | Age: 99999999999999999999999999 | ETag: "a"}
    GET -> validate {If-None-Match: "a"}

    # 5.3 A response is fresh until it expires: $
    for: @60 ;; Sunday, 06-Nov-94 08:50:37 GMT ;; Sun Nov  6 08:50:37 1994 ;; sun, 06 nov 1994 08:50:37 gmt ;; SUN, 06 NOV 1994 08:50:37 GMT
    GET -> fetch <- 200 {Expires: $}
    +59 GET -> serve
    +1 GET -> fetch

    # 5.3 The lifetime counts from the server's date
    GET -> fetch <- 200 {Date: @-3600 | Expires: @-3540}
    GET -> fetch <- 200 {Date: @3600 | Expires: @3660}
    +59 GET -> serve
    +1 GET -> fetch

    # 5.3 max-age overrides Expires: $
    for: @600 ;; @-600 ;; 0
    GET -> fetch <- 200 {Cache-Control: max-age=60 | Expires: $}
    +59 GET -> serve
    +1 GET -> fetch

    # 5.3 A response that has expired is stale
    GET -> fetch <- 200 {Expires: @-60 | ETag: "a"}
    GET -> validate {If-None-Match: "a"}

    # 5.3 An invalid date means stale: $
    for: 0 ;; -1 ;; never ;; 60 ;; Sun, 06 Nov 1994 10:49:37 UTC ;; Sun, 06 Nov 1994 10:49:37 +0100 ;; Sun, 06 Nov 1994 10:49:37 ;; Sun, 6 Nov 1994 10:49:37 GMT ;; Sun, 06 Nov 94 10:49:37 GMT ;; Sun 06 Nov 1994 10:49:37 GMT ;; Sun, 06  Nov 1994 10:49:37 GMT ;; Sun, 06-Nov-1994 10:49:37 GMT ;; Sun, 06 Nov 1994 9:49:37 GMT ;; Sun, 06 Nov 1994 10.49.37 GMT ;; Sun, 06 Nov 1994 24:49:37 GMT ;; Sun, 31 Nov 1994 10:49:37 GMT ;; Sun, 00 Dec 1994 10:49:37 GMT ;; Nov, 06 Nov 1994 10:49:37 GMT ;; Sun, 06 Now 1994 10:49:37 GMT ;; 1994-11-06T10:49:37Z ;; 784118977 ;; @60, @60
    GET -> fetch <- 200 {Expires: $ | Last-Modified: @-100000}
    GET -> validate {If-Modified-Since: @-100000}

    # 5.3 Several Expires fields mean stale
    GET -> fetch <- 200 {Expires: @60 | Expires: @600 | ETag: "a"}
    GET -> validate {If-None-Match: "a"}

    # 9110 5.6.7 A two-digit year is at most 50 years in the future
    GET -> fetch <- 200 {Expires: Sunday, 06-Nov-44 08:49:37 GMT}
    +1577836800 GET -> serve

    # 9110 5.6.7 A two-digit year that would be more than 50 years ahead is in the past
    GET -> fetch <- 200 {Expires: Monday, 06-Nov-45 08:49:37 GMT | ETag: "a"}
    GET -> validate {If-None-Match: "a"}

    # 4.2.2 Without a lifetime, a response is fresh for a tenth of the time since its modification
    GET -> fetch <- 200 {Last-Modified: @-3600}
    +359 GET -> serve
    +1 GET -> validate {If-Modified-Since: @-3960}

    # 4.2.2 The heuristic lifetime counts from the server's date
    GET -> fetch <- 200 {Last-Modified: @-3600 | Date: @-30}
    +326 GET -> serve
    +1 GET -> validate {If-Modified-Since: @-3927}

    # 4.2.2 The heuristic lifetime has a limit
    GET -> fetch <- 200 {Last-Modified: @-100000000}
    +86399 GET -> serve
    +1 GET -> validate {If-Modified-Since: @-100086400}

    # 4.2.2 A Last-Modified in the future gives no lifetime: $
    for: @60 ;; @0
    GET -> fetch <- 200 {Last-Modified: $}
    GET -> validate {If-Modified-Since: $}

    # 4.2.2 An invalid Last-Modified gives no lifetime
    GET -> fetch <- 200 {Last-Modified: never | ETag: "a"}
    GET -> validate {If-None-Match: "a"}

    # 4.2.2 A stated lifetime is never extended: $
    for: Cache-Control: max-age=0 ;; Expires: @-1 ;; Expires: 0
    GET -> fetch <- 200 {$ | Last-Modified: @-100000}
    GET -> validate {If-Modified-Since: @-100000}

    # 4.2.2 A status that isn't heuristically cacheable has no heuristic lifetime
    GET -> fetch <- 599 {Cache-Control: private | Last-Modified: @-100000}
    GET -> validate {If-Modified-Since: @-100000}

    # 4.2.2 A public response has a heuristic lifetime
    GET -> fetch <- 599 {Cache-Control: public | Last-Modified: @-3600}
    +359 GET -> serve => 599

    # 4.2.3 The Age field adds to the age
    GET -> fetch <- 200 {Cache-Control: max-age=60 | Age: 20}
    +39 GET -> serve => 200 {Age: 59}
    +1 GET -> fetch

    # 5.1 The first of several ages counts: $
    for: 20, 50 ;; 20,0 ;; 20, x
    GET -> fetch <- 200 {Cache-Control: max-age=60 | Age: $}
    +39 GET -> serve
    +1 GET -> fetch

    # 5.1 An invalid age is ignored: $
    for: -20 ;; x ;; 2.5 ;; 20s ;; "20" ;; 0x20
    GET -> fetch <- 200 {Cache-Control: max-age=60 | Age: $}
    +59 GET -> serve
    +1 GET -> fetch

    # 4.2.3 The time since the server's date counts as age
    GET -> fetch <- 200 {Cache-Control: max-age=60 | Date: @-30}
    +29 GET -> serve => 200 {Age: 59}
    +1 GET -> fetch

    # 4.2.3 The larger of the two ages counts: $
    for: Age: 30 | Date: @-20 ;; Age: 20 | Date: @-30
    GET -> fetch <- 200 {Cache-Control: max-age=60 | $}
    +29 GET -> serve => 200 {Age: 59}
    +1 GET -> fetch

    # 4.2.3 A date in the future adds no age
    GET -> fetch <- 200 {Cache-Control: max-age=60 | Date: @600}
    +59 GET -> serve
    +1 GET -> fetch

    # 4.2.3 The time that the response took adds to the age
    GET -> fetch <- 5 200 {Cache-Control: max-age=60}
    +54 GET -> serve => 200 {Age: 59}
    +1 GET -> fetch

    # 4.2.3 The time that the response took adds to the Age field
    GET -> fetch <- 5 200 {Cache-Control: max-age=60 | Age: 20}
    +34 GET -> serve => 200 {Age: 59}
    +1 GET -> fetch

    # 4.2.3 A response that is old on arrival is stale
    GET -> fetch <- 200 {Cache-Control: max-age=60 | Age: 60 | ETag: "a"}
    GET -> validate {If-None-Match: "a"}

    # 4.2.3 After the clock was set back, the age is unknown
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    -1 GET -> validate {If-None-Match: "a"}

    # 5.2.2.10 s-maxage is for shared caches
    GET -> fetch <- 200 {Cache-Control: s-maxage=600 | ETag: "a"}
    GET -> validate {If-None-Match: "a"}

    # 5.4 Pragma has no meaning in a response
    GET -> fetch <- 200 {Cache-Control: max-age=60 | Pragma: no-cache}
    GET -> serve
    """#

// MARK: - Reuse

/// When a stored response is used (RFC 9111, sections 4, 4.2.4, 5.2.1, 5.2.2 and 5.4; RFC 5861; RFC 8246).
let reuseCases = #"""
    # 4 A stored response has its age
    GET -> fetch <- 200 {Cache-Control: max-age=60}
    GET -> serve => 200 {Age: 0}
    +30 GET -> serve => 200 {Age: 30}

    # 4 The server's age is replaced
    GET -> fetch <- 200 {Cache-Control: max-age=60 | Age: 10} => 200 {Age: 10}
    +5 GET -> serve => 200 {Age: 15}

    # 5.2.2.4 A response with no-cache is validated each time: $
    for: no-cache ;; No-Cache ;; no-cache, max-age=60 ;; no-cache="" ;; no-cache= ;; no-cache, no-cache="X"
    GET -> fetch <- 200 {Cache-Control: max-age=60, $ | ETag: "a"}
    GET -> validate {If-None-Match: "a"} <- 304 => 200 "1"
    GET -> validate {If-None-Match: "a"}

    # 5.2.2.4 A response with no-cache isn't used while stale: $
    for: {Cache-Control: max-stale} :: validate {If-None-Match: "a"} ;; {Cache-Control: only-if-cached} :: fail ;; (cacheOnly) :: fail ;; (useCache) :: validate {If-None-Match: "a"} <- failure => 0
    GET -> fetch <- 200 {Cache-Control: no-cache, stale-if-error=600 | ETag: "a"}
    GET $ -> $$

    # 5.2.2.4 Without validation, fields that no-cache names are omitted: $
    for: no-cache="X-A, X-B" ;; no-cache="x-a,,X-B" ;; no-cache="X-A", no-cache=X-B
    GET -> fetch <- 200 {Cache-Control: max-age=60, $ | X-A: 1 | X-B: 2 | X-C: 3 | ETag: "a"}
    GET -> serve => 200 "1" {!X-A | !X-B | X-C: 3}
    +60 GET -> validate {If-None-Match: "a"} <- 304 => 200 "1" {X-A: 1 | X-B: 2 | X-C: 3}

    # 5.2.1.4 A request with no-cache is validated: $
    for: no-cache ;; NO-CACHE ;; max-stale, no-cache ;; no-cache="X"
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    GET {Cache-Control: $} -> validate {If-None-Match: "a"} <- 304 => 200 "1"

    # 5.2.1.4 Without a validator, a request with no-cache is sent unchanged
    GET -> fetch <- 200 {Cache-Control: max-age=60}
    GET {Cache-Control: no-cache} -> fetch <- 200 {Cache-Control: max-age=60}
    GET -> serve => 200 "2"

    # 5.4 Pragma is the old form of no-cache
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    GET {Pragma: No-Cache} -> validate {If-None-Match: "a"}

    # 5.4 Cache-Control overrides Pragma
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    GET {Pragma: no-cache | Cache-Control: max-age=60} -> serve

    # 5.2.1.1 A request's max-age limits the age
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    +10 GET {Cache-Control: max-age=10} -> serve
    +1 GET {Cache-Control: max-age=10} -> validate {If-None-Match: "a"}

    # 5.2.1.1 A request's max-age doesn't extend the lifetime
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    +60 GET {Cache-Control: max-age=600} -> validate {If-None-Match: "a"}

    # 5.2.1.1 A request's invalid max-age requires validation
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    +1 GET {Cache-Control: max-age=x} -> validate {If-None-Match: "a"}

    # 5.2.1.2 max-stale accepts a stale response for some time
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    +70 GET {Cache-Control: max-stale=10} -> serve => 200 "1" {Age: 70}
    +1 GET {Cache-Control: max-stale=10} -> validate {If-None-Match: "a"}

    # 5.2.1.2 max-stale without a number accepts any stale response
    GET -> fetch <- 200 {Cache-Control: max-age=60}
    +100000 GET {Cache-Control: max-stale} -> serve

    # 5.2.1.2 An invalid max-stale accepts none
    GET -> fetch <- 200 {Cache-Control: max-age=60}
    +60 GET {Cache-Control: max-stale=x} -> fetch

    # 5.2.1.2 max-stale extends a request's max-age
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    +15 GET {Cache-Control: max-age=10, max-stale=5} -> serve
    +1 GET {Cache-Control: max-age=10, max-stale=5} -> validate {If-None-Match: "a"}

    # 5.2.1.3 min-fresh requires a remaining lifetime
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    +50 GET {Cache-Control: min-fresh=10} -> serve
    +1 GET {Cache-Control: min-fresh=10} -> validate {If-None-Match: "a"}

    # 5.2.1.7 only-if-cached gets a fresh response
    GET -> fetch <- 200 {Cache-Control: max-age=60}
    GET {Cache-Control: only-if-cached} -> serve

    # 5.2.1.7 only-if-cached fails without a response
    GET {Cache-Control: only-if-cached} -> fail => 504

    # 5.2.1.7 only-if-cached fails if the response is stale
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    +60 GET {Cache-Control: only-if-cached} -> fail => 504
    GET {Cache-Control: only-if-cached, max-stale} -> serve

    # 5.2.1.7 only-if-cached fails if only another variant is stored
    GET {X-A: 1} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: X-A | ETag: "a"}
    GET {X-A: 2 | Cache-Control: only-if-cached} -> fail => 504

    # 4.2.4 A stale response isn't used without permission
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    +60 GET -> validate {If-None-Match: "a"} <- failure => 0

    # 4.2.4 A stale response isn't used in place of an error without permission: $
    for: 500 ;; 502 ;; 503 ;; 504
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    +60 GET -> validate {If-None-Match: "a"} <- $ => $

    # 5.2.2.2 A stale response with must-revalidate isn't used: $
    for: {Cache-Control: max-stale} :: validate {If-None-Match: "a"} ;; (useCache) :: validate {If-None-Match: "a"} <- 503 => 503 ;; {Cache-Control: stale-if-error=600} :: validate {If-None-Match: "a"} <- failure => 0 ;; (staleIfOffline) :: validate {If-None-Match: "a"} <- failure => 0 ;; (cacheOnly) :: fail => 504
    GET -> fetch <- 200 {Cache-Control: max-age=60, must-revalidate, stale-while-revalidate=600, stale-if-error=600 | ETag: "a"}
    +59 GET -> serve
    +1 GET $ -> $$

    # 5861 3 A stale response is used while it is validated
    GET -> fetch <- 200 {Cache-Control: max-age=60, stale-while-revalidate=30 | ETag: "a"}
    +90 GET -> revalidate {If-None-Match: "a"} <- 304 => 200 "1" {Age: 90}
    GET -> serve => 200 "1" {Age: 0}

    # 5861 3 only-if-cached gets the stale response without validation
    GET -> fetch <- 200 {Cache-Control: max-age=60, stale-while-revalidate=30 | ETag: "a"}
    +60 GET {Cache-Control: only-if-cached} -> serve => 200 "1"
    +31 GET {Cache-Control: only-if-cached} -> fail => 504

    # 5861 3 The background validation may bring a new response
    GET -> fetch <- 200 {Cache-Control: max-age=60, stale-while-revalidate=30 | ETag: "a"}
    +60 GET -> revalidate {If-None-Match: "a"} <- 200 {Cache-Control: max-age=60} => 200 "1"
    GET -> serve => 200 "2"

    # 5861 3 After that time it is validated first
    GET -> fetch <- 200 {Cache-Control: max-age=60, stale-while-revalidate=30 | ETag: "a"}
    +91 GET -> validate {If-None-Match: "a"}

    # 5861 3 A client that limits the age gets no stale response: $
    for: max-age=600 ;; min-fresh=1 ;; no-cache ;; max-stale=0
    GET -> fetch <- 200 {Cache-Control: max-age=60, stale-while-revalidate=30 | ETag: "a"}
    +61 GET {Cache-Control: $} -> validate {If-None-Match: "a"}

    # 5861 4 A stale response is used in place of an error: $
    for: 500 ;; 502 ;; 503 ;; 504 ;; failure
    GET -> fetch <- 200 {Cache-Control: max-age=60, stale-if-error=30 | ETag: "a"}
    +90 GET -> validate {If-None-Match: "a"} <- $ => 200 "1" {Age: 90}

    # 5861 4 A stale response isn't used in place of $
    for: 400 ;; 403 ;; 404 ;; 410 ;; 429 ;; 501
    GET -> fetch <- 200 {Cache-Control: max-age=60, stale-if-error=30 | ETag: "a"}
    +60 GET -> validate {If-None-Match: "a"} <- $ => $

    # 5861 4 After that time the error is the answer
    GET -> fetch <- 200 {Cache-Control: max-age=60, stale-if-error=30 | ETag: "a"}
    +91 GET -> validate {If-None-Match: "a"} <- 503 => 503

    # 5861 4 The client may accept a stale response
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    +90 GET {Cache-Control: stale-if-error=30} -> validate {If-None-Match: "a"} <- 503 => 200 "1"
    +1 GET {Cache-Control: stale-if-error=30} -> validate {If-None-Match: "a"} <- 503 => 503

    # 5861 4 A client that asks for validation gets the error
    GET -> fetch <- 200 {Cache-Control: max-age=60, stale-if-error=30 | ETag: "a"}
    +60 GET {Cache-Control: no-cache} -> validate {If-None-Match: "a"} <- 503 => 503

    # 5861 4 An error isn't stored in place of the stale response
    GET -> fetch <- 200 {Cache-Control: max-age=60, stale-if-error=30 | ETag: "a"}
    +60 GET -> validate {If-None-Match: "a"} <- 503 {Cache-Control: max-age=60} => 200 "1"
    GET -> validate {If-None-Match: "a"}

    # 8246 2 A fresh immutable response isn't validated because of max-age
    GET -> fetch <- 200 {Cache-Control: max-age=60, immutable | ETag: "a"}
    +59 GET {Cache-Control: max-age=0} -> serve
    +1 GET {Cache-Control: max-age=0} -> validate {If-None-Match: "a"}

    # 8246 2 A request with no-cache is still validated
    GET -> fetch <- 200 {Cache-Control: max-age=60, immutable | ETag: "a"}
    GET {Cache-Control: no-cache} -> validate {If-None-Match: "a"}

    # 8246 2 immutable gives no lifetime
    GET -> fetch <- 200 {Cache-Control: immutable | ETag: "a"}
    GET -> validate {If-None-Match: "a"}

    # 4 The lookup mode reload uses nothing, and stores
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    GET (reload) -> fetch <- 200 {Cache-Control: max-age=60}
    GET -> serve => 200 "2"

    # 4.2.4 The lookup mode cacheOnly uses a stale response
    GET (cacheOnly) -> fail => 504
    GET -> fetch <- 200 {Cache-Control: max-age=60}
    +60 GET (cacheOnly) -> serve => 200 "2"

    # 4.2.4 The lookup mode staleIfOffline uses a stale response if the server can't be reached
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    +60 GET (staleIfOffline) -> validate {If-None-Match: "a"} <- failure => 200 "1" {Age: 60}
    GET (staleIfOffline) -> validate {If-None-Match: "a"} <- 503 => 503
    """#
