/// Which responses are stored, and what of them (RFC 9111, sections 3, 3.1, 3.5, 5.2.1.5, 5.2.2).
let storingCases = #"""
    # 3 A response with explicit freshness is stored
    GET -> fetch <- 200 {Cache-Control: max-age=60}
    GET -> serve => 200 "1"

    # 3 A response of no use later isn't stored: $
    for: {X: a} ;; {Cache-Control: max-age=0} ;; {Expires: 0} ;; {Cache-Control: private} ;; {Cache-Control: public} ;; {Cache-Control: no-cache}
    GET -> fetch <- 200 $
    GET (cacheOnly) -> fail

    # 3 A stale response with a validator is stored: $
    for: ETag: "a" ;; ETag: W/"a" ;; Last-Modified: @-86400
    GET -> fetch <- 200 {Cache-Control: max-age=0 | $}
    GET (cacheOnly) -> serve => 200 "1"

    # 3 A stale response that may be used is stored: $
    for: stale-while-revalidate=60 ;; stale-if-error=60
    GET -> fetch <- 200 {Cache-Control: max-age=0, $}
    GET (cacheOnly) -> serve => 200 "1"

    # 9110 15.1 Status $ is cacheable by itself
    for: 200 ;; 203 ;; 204 ;; 300 ;; 301 ;; 308 ;; 404 ;; 405 ;; 410 ;; 414 ;; 501
    GET -> fetch <- $ {Last-Modified: @-1000}
    GET -> serve => $

    # 9110 15.1 Status $ isn't cacheable by itself
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

    # 3 An interim response is no answer, and isn't stored
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

    # 5.2.2.5 A quoted no-store is no directive
    GET -> fetch <- 200 {Cache-Control: max-age=60, x="a, no-store"}
    GET -> serve

    # 5.2 A quoted string without an end doesn't hide directives
    GET -> fetch <- 200 {Cache-Control: max-age=60, x="a, no-store}
    GET -> fetch

    # 5.2.2.5 A response with no-store leaves no older response
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

    # 5.2.2.3 A response with must-understand and a known status is stored in spite of no-store
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

    # 3.5 A response to a request with Authorization is stored for the user
    GET {Authorization: Basic YTpi} -> fetch <- 200 {Cache-Control: max-age=60}
    GET {Authorization: Basic YTpi} -> serve => 200 "1"

    # 3.5 A response to a request with Authorization is only for the same credentials: $
    for: {Authorization: Basic Yjpi} ;; {Authorization: basic YTpi} ;; {X: a} ;; {Authorization: Basic Yjpi | If-None-Match: *}
    GET {Authorization: Basic YTpi} -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    GET $ -> fetch
    GET {Authorization: Basic YTpi} -> serve => 200 "1"

    # 3.5 The responses for several credentials are stored side by side
    GET {Authorization: Basic YTpi} -> fetch <- 200 {Cache-Control: max-age=60}
    GET {Authorization: Basic Yjpi} -> fetch <- 200 {Cache-Control: max-age=60}
    GET -> fetch <- 200 {Cache-Control: max-age=60}
    GET {Authorization: Basic YTpi} -> serve => 200 "1"
    GET {Authorization: Basic Yjpi} -> serve => 200 "2"
    GET -> serve => 200 "3"

    # 3.5 A response for all users is used for a request with Authorization
    GET -> fetch <- 200 {Cache-Control: max-age=60}
    GET {Authorization: Basic YTpi} -> serve => 200 "1"

    # 3.5 The tags of another user's responses aren't named, and a 304 confirms none of them: $
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

    # 9110 7.6.1 A field for all recipients isn't one of the connection: $
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

    # 3 A newer response takes the place of the older one
    GET -> fetch <- 200 {Cache-Control: max-age=60}
    +60 GET -> fetch <- 200 {Cache-Control: max-age=60}
    GET -> serve => 200 "2"

    # 3 A response that can't be stored removes the older one: $
    for: 200 ;; 302 ;; 404 ;; 410
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    +60 GET -> validate {If-None-Match: "a"} <- $ {Cache-Control: no-store}
    GET -> fetch

    # 3 An error that can't be stored leaves the older response: $
    for: 403 ;; 429 ;; 500
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    +60 GET -> validate {If-None-Match: "a"} <- $
    GET -> validate {If-None-Match: "a"}
    """#
