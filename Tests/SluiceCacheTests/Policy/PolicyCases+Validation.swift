/// Which of several stored responses is used (RFC 9111, sections 4 and 4.1).
let variantCases = #"""
    # 4.1 The fields that Vary names must match
    GET {X-A: 1} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: X-A}
    GET {X-A: 1} -> serve => 200 "1"
    GET {X-A: 2} -> fetch
    GET -> fetch

    # 4.1 Other fields don't matter
    GET {X-A: 1 | X-B: 1} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: X-A}
    GET {X-A: 1 | X-B: 2} -> serve

    # 4.1 All named fields must match: $
    for: Vary: X-A, X-B ;; Vary: x-a,,x-b ;; Vary: X-A | Vary: X-B
    GET {X-A: 1 | X-B: 1} -> fetch <- 200 {Cache-Control: max-age=60 | $}
    GET {X-A: 1 | X-B: 1} -> serve
    GET {X-A: 1 | X-B: 2} -> fetch
    GET {X-A: 2 | X-B: 1} -> fetch

    # 4.1 An absent field matches only its absence
    GET -> fetch <- 200 {Cache-Control: max-age=60 | Vary: X-A}
    GET -> serve
    GET {X-A: } -> fetch
    GET {X-A: 1} -> fetch

    # 4.1 Several variants are stored
    GET {X-A: 1} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: X-A}
    GET {X-A: 2} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: X-A}
    GET -> fetch <- 200 {Cache-Control: max-age=60 | Vary: X-A}
    GET {X-A: 1} -> serve => 200 "1"
    GET {X-A: 2} -> serve => 200 "2"
    GET -> serve => 200 "3"

    # 4.1 A newer response replaces only its own variant
    GET {X-A: 1} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: X-A}
    GET {X-A: 2} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: X-A}
    GET {X-A: 1 | Cache-Control: no-cache} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: X-A}
    GET {X-A: 1} -> serve => 200 "3"
    GET {X-A: 2} -> serve => 200 "2"

    # 4.1 Vary: * matches nothing: $
    for: * ;; X-A, * ;; *, X-A
    GET {X-A: 1} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: $}
    GET {X-A: 1} -> fetch

    # 4.1 A name that can't be a field name matches nothing
    GET -> fetch <- 200 {Cache-Control: max-age=60 | Vary: (}
    GET -> fetch

    # 4.1 White space in a list doesn't matter: $
    for: a,b ;; a , b ;; a,	b ;; , a,, b
    GET {X-A: a, b} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: X-A}
    GET {X-A: $} -> serve

    # 4.1 Several lines are one list
    GET {X-A: a, b} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: X-A}
    GET {X-A: a | X-A: b} -> serve

    # 4.1 The order and the case of an unknown field matter: $
    for: b, a ;; A, b ;; "a, b" ;; a ;; a, b, c
    GET {X-A: a, b} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: X-A}
    GET {X-A: $} -> fetch

    # 4.1 Languages with the same meaning match: $
    for: en-US, de;q=0.5 ;; de;q=0.5, en-US ;; en-us,DE;Q=0.5 ;; en-US;q=1, de ; q=0.500 ;; en-US;q=1.000,de;q=0.5
    GET {Accept-Language: en-US, de;q=0.5} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: Accept-Language}
    GET {Accept-Language: $} -> serve

    # 4.1 Languages with a different meaning don't match: $
    for: en-US ;; en-US, de ;; en-US, de;q=0.6 ;; de, en-US;q=0.5 ;; en, de;q=0.5 ;; en-US, de;q=0.5, fr
    GET {Accept-Language: en-US, de;q=0.5} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: Accept-Language}
    GET {Accept-Language: $} -> fetch

    # 4.1 Codings with the same meaning match
    GET {Accept-Encoding: gzip, br;q=0.5} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: Accept-Encoding}
    GET {Accept-Encoding: BR;q=0.50,gzip} -> serve

    # 4.1 A response with Vary takes precedence over one without
    GET {X-A: 1} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: X-A}
    +1 GET {X-A: 2} -> fetch <- 200 {Cache-Control: max-age=60}
    GET {X-A: 1} -> serve => 200 "1"
    GET {X-A: 2} -> serve => 200 "2"

    # 4 The most recent of several responses is used
    GET {X-A: 1 | X-B: 1} -> fetch <- 200 {Cache-Control: max-age=600 | Vary: X-A | Date: @-30}
    GET {X-A: 2 | X-B: 1} -> fetch <- 200 {Cache-Control: max-age=600 | Vary: X-B | Date: @-60}
    GET {X-A: 1 | X-B: 1} -> serve => 200 "1"

    # 4 The most recent response is used even if it arrived last
    GET {X-A: 1 | X-B: 1} -> fetch <- 200 {Cache-Control: max-age=600 | Vary: X-A | Date: @-60}
    GET {X-A: 2 | X-B: 1} -> fetch <- 200 {Cache-Control: max-age=600 | Vary: X-B | Date: @-30}
    GET {X-A: 1 | X-B: 1} -> serve => 200 "2"

    # 4.3.1 A request without a stored variant sends the tags of all variants
    GET {X-A: 1} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: X-A | ETag: "a"}
    GET {X-A: 2} -> validate {If-None-Match: "a"} <- 200 {Cache-Control: max-age=60 | Vary: X-A | ETag: "b"}
    GET {X-A: 3} -> validate {If-None-Match: "a", "b"} <- 304 {ETag: "b"} => 200 "2"
    GET {X-A: 1} -> serve => 200 "1"

    # 4.3.4 A 304 changes the fields that the response varies by
    GET {X-A: 1} -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    +60 GET {X-A: 2} -> validate {If-None-Match: "a"} <- 304 {ETag: "a" | Vary: X-A} => 200 "1"
    GET {X-A: 2} -> serve => 200 "1"
    GET {X-A: 1} -> validate {If-None-Match: "a"}

    # 4.3.4 A 304 with Vary: * removes the response
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    +60 GET -> validate {If-None-Match: "a"} <- 304 {ETag: "a" | Vary: *} => 200 "1"
    GET -> fetch

    # 4.1 A URL has at most 16 variants, including parts
    GET {X-A: 1} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: X-A}
    +1 GET {X-A: 2} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: X-A}
    GET {X-A: 3} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: X-A}
    GET {X-A: 4} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: X-A}
    GET {X-A: 5} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: X-A}
    GET {X-A: 6} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: X-A}
    GET {X-A: 7} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: X-A}
    GET {X-A: 8} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: X-A}
    GET {X-A: 9} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: X-A}
    GET {X-A: 10} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: X-A}
    GET {X-A: 11} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: X-A}
    GET {X-A: 12} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: X-A}
    GET {X-A: 13} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: X-A}
    GET {X-A: 14} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: X-A}
    GET {X-A: 15} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: X-A}
    GET {X-A: 16} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: X-A}
    GET {X-A: 17 | Range: bytes=0-0} -> fetch <- 206 "a" {Cache-Control: max-age=60 | Vary: X-A | Content-Range: bytes 0-0/2}
    GET {X-A: 1} -> fetch
    GET {X-A: 2} -> serve => 200 "2"
    GET {X-A: 17 | Range: bytes=0-0} -> serve => 206 "a"
    """#

// MARK: - Validation

/// Conditional requests, 304 and HEAD (RFC 9111, sections 3.2 and 4.3).
let validationCases = #"""
    # 4.3.1 A stale response is validated by its entity tag: $
    for: "a" ;; W/"a" ;; "" ;; "a,b" ;; "ä"
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: $}
    +60 GET -> validate {If-None-Match: $} <- 304 {Cache-Control: max-age=60} => 200 "1"
    +59 GET -> serve => 200 "1"
    +1 GET -> validate {If-None-Match: $}

    # 4.3.1 A stale response is validated by its date
    GET -> fetch <- 200 {Cache-Control: max-age=60 | Last-Modified: Sun, 06 Nov 1994 07:49:37 GMT}
    +60 GET -> validate {If-Modified-Since: Sun, 06 Nov 1994 07:49:37 GMT} <- 304 => 200 "1"
    GET -> serve

    # 4.3.1 A stale response is validated by both
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a" | Last-Modified: Sun, 06 Nov 1994 07:49:37 GMT}
    +60 GET -> validate {If-None-Match: "a" | If-Modified-Since: Sun, 06 Nov 1994 07:49:37 GMT}

    # 4.3.1 A date is sent as the server wrote it
    GET -> fetch <- 200 {Cache-Control: max-age=60 | Last-Modified: Sunday, 06-Nov-94 07:49:37 GMT}
    +60 GET -> validate {If-Modified-Since: Sunday, 06-Nov-94 07:49:37 GMT}

    # 4.3.1 A malformed validator isn't sent: $
    for: ETag: a ;; ETag: "a ;; ETag: "a"b" ;; ETag: 'a' ;; ETag: w/"a" ;; ETag: ;; Last-Modified: yesterday
    GET -> fetch <- 200 {Cache-Control: max-age=60 | $}
    +60 GET -> fetch

    # 4.3.1 A validation keeps the fields of the request
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    +60 GET {X-A: 1} -> validate {If-None-Match: "a"}

    # 4.3.1 HEAD validates, too
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    +60 HEAD -> validate {If-None-Match: "a"} <- 304 {ETag: "a"} => 200 ""
    GET -> serve

    # 4.3.3 A full response replaces the stored one
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    +60 GET -> validate {If-None-Match: "a"} <- 200 {Cache-Control: max-age=60 | ETag: "b"} => 200 "2"
    GET -> serve => 200 "2"

    # 4.3.3 A server error is the answer, and the stored response remains
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    +60 GET -> validate {If-None-Match: "a"} <- 503 => 503 "2"
    GET -> validate {If-None-Match: "a"}

    # 4.3.4 A 304 with the same strong tag confirms
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    +60 GET -> validate {If-None-Match: "a"} <- 304 {ETag: "a"} => 200 "1" {Age: 0}
    +59 GET -> serve

    # 4.3.4 A 304 with another tag confirms nothing: $
    for: "b" ;; W/"b" ;; "A" ;; a
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    +60 GET -> validate {If-None-Match: "a"} <- 304 {ETag: $} <- 200 "new" {Cache-Control: max-age=60} => 200 "new"
    GET -> serve => 200 "new"

    # 4.3.4 A strong tag doesn't confirm a weak one
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: W/"a"}
    +60 GET -> validate {If-None-Match: W/"a"} <- 304 {ETag: "a"} <- 200 "new" => 200 "new"

    # 4.3.4 A weak tag confirms a $ one
    for: "a" ;; W/"a"
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: $}
    +60 GET -> validate {If-None-Match: $} <- 304 {ETag: W/"a"} => 200 "1"

    # 4.3.4 A 304 with the same date confirms
    GET -> fetch <- 200 {Cache-Control: max-age=60 | Last-Modified: Sun, 06 Nov 1994 07:49:37 GMT}
    +60 GET -> validate {If-Modified-Since: Sun, 06 Nov 1994 07:49:37 GMT} <- 304 {Last-Modified: Sun, 06 Nov 1994 07:49:37 GMT} => 200 "1"

    # 4.3.4 A 304 with another date confirms nothing
    GET -> fetch <- 200 {Cache-Control: max-age=60 | Last-Modified: Sun, 06 Nov 1994 07:49:37 GMT}
    +60 GET -> validate {If-Modified-Since: Sun, 06 Nov 1994 07:49:37 GMT} <- 304 {Last-Modified: Sun, 06 Nov 1994 07:49:38 GMT} <- 200 "new" => 200 "new"

    # 4.3.4 A 304 with a strong tag confirms all variants with the tag
    GET {X-A: 1} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: X-A | ETag: "a"}
    GET {X-A: 2} -> validate {If-None-Match: "a"} <- 200 {Cache-Control: max-age=60 | Vary: X-A | ETag: "a"}
    +60 GET {X-A: 1} -> validate {If-None-Match: "a"} <- 304 {ETag: "a"} => 200 "1"
    GET {X-A: 2} -> serve => 200 "2"

    # 4.3.4 A 304 with no-store removes the response
    GET -> fetch <- 200 {Cache-Control: no-cache | ETag: "a"}
    GET -> validate {If-None-Match: "a"} <- 304 {ETag: "a" | Cache-Control: no-store} => 200 "1"
    GET -> fetch

    # 4.3.4 A 304 without a stored response isn't an answer
    GET -> fetch <- 304 <- 200 "new" => 200 "new"

    # 3.2 A 304 replaces the field: $
    for: Cache-Control: max-age=5 ;; Content-Type: text/b ;; Content-Location: /b ;; Set-Cookie: a=b ;; X-A: new ;; Link: new ;; Expires: @600
    GET -> fetch <- 200 {Cache-Control: no-cache | ETag: "a" | Content-Type: text/a | X-A: old | X-A: older}
    GET -> validate {If-None-Match: "a"} <- 304 {ETag: "a" | $} => 200 "1" {$}

    # 3.2 Fields that a 304 doesn't have are kept
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a" | X-A: old}
    +60 GET -> validate {If-None-Match: "a"} <- 304 {ETag: "a"} => 200 {X-A: old | Cache-Control: max-age=60}

    # 3.2 A 304 doesn't change fields that describe the bytes: $
    for: Content-Length: 0 ;; Content-Encoding: gzip ;; Content-Range: bytes 0-0/1
    GET -> fetch <- 200 "body" {Cache-Control: max-age=60 | ETag: "a" | Content-Length: 4 | Content-Encoding: br}
    +60 GET -> validate {If-None-Match: "a"} <- 304 {ETag: "a" | $} => 200 "body" {Content-Length: 4 | Content-Encoding: br | !Content-Range}

    # 3.2 A 304's connection fields aren't stored: $
    for: Connection ;; Keep-Alive ;; Transfer-Encoding ;; Upgrade ;; Proxy-Authenticate
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    +60 GET -> validate {If-None-Match: "a"} <- 304 {ETag: "a" | $: x} => 200 {!$}

    # 3.2 A field that a 304's Connection names isn't stored
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a" | X-A: 1}
    +60 GET -> validate {If-None-Match: "a"} <- 304 {ETag: "a" | Connection: X-A | X-A: 2} => 200 {X-A: 1}

    # 3.2 The age and the date count from the 304
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a" | Age: 30 | Date: @-30}
    +60 GET -> validate {If-None-Match: "a"} <- 304 {ETag: "a" | Age: 10} => 200 {Age: 10 | Date: @0}
    +49 GET -> serve
    +1 GET -> validate {If-None-Match: "a"}

    # 4.3.2 A client that has the response gets a 304: $
    for: "a" ;; W/"a" ;; "b", "a" ;; "b","a" ;; *
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a" | X-A: 1}
    GET {If-None-Match: $} -> serve => 304 "" {ETag: "a" | Age: 0 | Cache-Control: max-age=60 | !X-A}

    # 4.3.2 A client that has a different response gets the whole: $
    for: "b" ;; "A" ;; "b", "c" ;; a
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    GET {If-None-Match: $} -> serve => 200 "1"

    # 4.3.2 A client with the same or a later date gets a 304: $
    for: @-3600 ;; @-3599 ;; @0
    GET -> fetch <- 200 {Cache-Control: max-age=60 | Last-Modified: @-3600}
    GET {If-Modified-Since: $} -> serve => 304 ""

    # 4.3.2 A client with an earlier or invalid date gets the whole: $
    for: @-3601 ;; yesterday
    GET -> fetch <- 200 {Cache-Control: max-age=60 | Last-Modified: @-3600}
    GET {If-Modified-Since: $} -> serve => 200 "1"

    # 4.3.2 Without Last-Modified, the response's Date counts
    GET -> fetch <- 200 {Cache-Control: max-age=60 | Date: @-30}
    GET {If-Modified-Since: @-30} -> serve => 304
    GET {If-Modified-Since: @-31} -> serve => 200

    # 4.3.2 A tag takes precedence over a date
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a" | Last-Modified: @-3600}
    GET {If-None-Match: "b" | If-Modified-Since: @0} -> serve => 200 "1"
    GET {If-None-Match: "a" | If-Modified-Since: @-7200} -> serve => 304

    # 9110 13.2.1 A condition doesn't apply to status $
    for: 404 ;; 301
    GET -> fetch <- $ {Cache-Control: max-age=60 | ETag: "a"}
    GET {If-None-Match: "a"} -> serve => $ "1"

    # 4.3.2 Conditions of HEAD are evaluated, too
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    HEAD {If-None-Match: "a"} -> serve => 304

    # 4.3.2 The client's tags are sent with the stored one
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    +60 GET {If-None-Match: "b"} -> validate {If-None-Match: "b", "a"}

    # 4.3.2 A 304 with the client's tag is passed on
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    +60 GET {If-None-Match: "b"} -> validate {If-None-Match: "b", "a"} <- 304 {ETag: "b"} => 304
    GET -> validate {If-None-Match: "a"}

    # 4.3.2 A 304 with the stored tag becomes a 200
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    +60 GET {If-None-Match: "b"} -> validate {If-None-Match: "b", "a"} <- 304 {ETag: "a"} => 200 "1"

    # 4.3.2 A 304 with a tag that both have is a 304
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    +60 GET {If-None-Match: "a"} -> validate {If-None-Match: "a"} <- 304 {ETag: "a"} => 304
    GET -> serve => 200 "1"

    # 4.3.2 The client's date is evaluated after the validation
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a" | Last-Modified: Sun, 06 Nov 1994 07:49:37 GMT}
    +60 GET {If-Modified-Since: Sun, 06 Nov 1994 07:00:00 GMT} -> validate {If-None-Match: "a" | If-Modified-Since: Sun, 06 Nov 1994 07:49:37 GMT} <- 304 {ETag: "a"} => 200 "1"

    # 4.3.2 If-None-Match: * from the client is sent unchanged
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    +60 GET {If-None-Match: *} -> fetch <- 304 => 304

    # 4.3.2 The server evaluates $
    for: If-Match: "a" ;; If-Unmodified-Since: @0
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    GET {$} -> fetch <- 412 => 412

    # 4.3.2 Without a stored response, the client's condition is sent unchanged
    GET {If-None-Match: "a"} -> fetch <- 304 {ETag: "a"} => 304
    GET {If-Modified-Since: @0} -> fetch <- 304 => 304

    # 4.3.5 A response to HEAD with the same validators updates: $
    for: ETag: "a" ;; Last-Modified: Sun, 06 Nov 1994 07:49:37 GMT ;; Content-Length: 4 ;; X-B: 1
    GET -> fetch <- 200 "body" {Cache-Control: max-age=60 | ETag: "a" | Last-Modified: Sun, 06 Nov 1994 07:49:37 GMT | X-A: 1}
    HEAD {Cache-Control: max-age=0} -> serve
    +60 HEAD (reload) -> fetch <- 200 {Cache-Control: max-age=60 | X-A: 2 | $}
    +59 GET -> serve => 200 "body" {X-A: 2}

    # 4.3.5 A response to HEAD with other validators removes: $
    for: ETag: "b" ;; ETag: W/"a" ;; Last-Modified: Sun, 06 Nov 1994 07:49:38 GMT ;; Content-Length: 5
    GET -> fetch <- 200 "body" {Cache-Control: max-age=60 | ETag: "a" | Last-Modified: Sun, 06 Nov 1994 07:49:37 GMT}
    HEAD (reload) -> fetch <- 200 {$}
    GET -> fetch

    # 4.3.5 A response to HEAD doesn't affect other variants
    GET {X-A: 1} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: X-A | ETag: "a"}
    HEAD (reload) {X-A: 2} -> fetch <- 200 {Vary: X-A | ETag: "b"}
    GET {X-A: 1} -> serve

    # 4.3.5 An error response to HEAD changes nothing: $
    for: 404 ;; 500
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    HEAD (reload) -> fetch <- $
    GET -> serve
    """#

// MARK: - Invalidation

/// What requests with unsafe methods remove (RFC 9111, section 4.4).
let invalidationCases = #"""
    # 9875 3 The response to an unsafe request invalidates groups
    GET /a -> fetch <- 200 {Cache-Control: max-age=60 | Cache-Groups: "x", "y"}
    GET /b -> fetch <- 200 {Cache-Control: max-age=60 | Cache-Groups: "y";p="q, r"}
    GET /c -> fetch <- 200 {Cache-Control: max-age=60 | Cache-Groups: "z"}
    POST /d -> fetch <- 200 {Cache-Group-Invalidation: "v", "y"}
    GET /a -> fetch
    GET /b -> fetch
    GET /c -> serve => 200 "3"

    # 9875 2.2.1 An invalidated response takes its groups along
    GET /a -> fetch <- 200 {Cache-Control: max-age=60 | Cache-Groups: "x"}
    GET /b -> fetch <- 200 {Cache-Control: max-age=60 | Cache-Groups: "x"}
    PUT /a -> fetch <- 204
    GET /b -> fetch

    # 9875 3 A response to $ invalidates no group
    for: GET /b -> fetch <- 200 ;; HEAD /b -> fetch <- 200 ;; POST /b -> fetch <- 500
    GET /a -> fetch <- 200 {Cache-Control: max-age=60 | Cache-Groups: "x"}
    $ {Cache-Group-Invalidation: "x"}
    GET /a -> serve => 200 "1"

    # 9875 2.1 A group of another origin is another group
    GET http://other.test/a -> fetch <- 200 {Cache-Control: max-age=60 | Cache-Groups: "x"}
    POST /b -> fetch <- 200 {Cache-Group-Invalidation: "x"}
    GET http://other.test/a -> serve => 200 "1"

    # 9875 2 A group has the name in quotes, and no other: $
    for: "X" ;; " x" ;; "x\\\\" ;; x ;; "x ;; "y" "x" ;; "x", y ;; ""
    GET /a -> fetch <- 200 {Cache-Control: max-age=60 | Cache-Groups: "x"}
    POST /b -> fetch <- 200 {Cache-Group-Invalidation: $}
    GET /a -> serve => 200 "1"

    # 9651 3.3.3 A name may have escaped characters
    GET /a -> fetch <- 200 {Cache-Control: max-age=60 | Cache-Groups: "x\"\\y"}
    POST /b -> fetch <- 200 {Cache-Group-Invalidation: "x\"\\y"}
    GET /a -> fetch

    # 4.4 A successful $ invalidates its URL
    for: POST ;; PUT ;; DELETE ;; PATCH ;; FOO
    GET /a -> fetch <- 200 {Cache-Control: max-age=60}
    $ /a -> fetch <- 200
    GET /a -> fetch

    # 4.4 Status $ invalidates
    for: 200 ;; 201 ;; 202 ;; 204 ;; 301 ;; 303 ;; 307
    GET /a -> fetch <- 200 {Cache-Control: max-age=60}
    PUT /a -> fetch <- $
    GET /a -> fetch

    # 4.4 Status $ doesn't invalidate
    for: 400 ;; 403 ;; 404 ;; 409 ;; 412 ;; 500 ;; 503
    GET /a -> fetch <- 200 {Cache-Control: max-age=60}
    PUT /a -> fetch <- $
    GET /a -> serve => 200 "1"

    # 4.4 $ doesn't invalidate
    for: OPTIONS ;; TRACE
    GET /a -> fetch <- 200 {Cache-Control: max-age=60}
    $ /a -> fetch <- 200
    GET /a -> serve

    # 4.4 The URL in $ is invalidated
    for: Location: /b ;; Content-Location: /b ;; Location: http://example.test/b ;; Content-Location: HTTP://EXAMPLE.test:80/b#x ;; Location: b
    GET /b -> fetch <- 200 {Cache-Control: max-age=60}
    POST /a -> fetch <- 201 {$}
    GET /b -> fetch

    # 4.4 Another origin's URL isn't invalidated: $
    for: http://other.test/b ;; https://example.test/b ;; http://example.test:8080/b ;; //other.test/b
    GET $ -> fetch <- 200 {Cache-Control: max-age=60}
    POST /a -> fetch <- 201 {Location: $ | Content-Location: $}
    GET $ -> serve

    # 4.4 A failed request invalidates no related URL
    GET /b -> fetch <- 200 {Cache-Control: max-age=60}
    POST /a -> fetch <- 400 {Location: /b}
    GET /b -> serve

    # 4.4 All variants are invalidated
    GET {X-A: 1} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: X-A}
    GET {X-A: 2} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: X-A}
    PUT -> fetch <- 204
    GET {X-A: 1} -> fetch
    GET {X-A: 2} -> fetch

    # 4.4 Another URL isn't invalidated
    GET /b -> fetch <- 200 {Cache-Control: max-age=60}
    PUT /a -> fetch <- 204
    GET /b -> serve

    # 4.4 A stored response to POST replaces the invalidated one
    GET /a -> fetch <- 200 {Cache-Control: max-age=60}
    POST /a -> fetch <- 200 {Cache-Control: max-age=60 | Content-Location: /a}
    GET /a -> serve => 200 "2"

    # 4.4 only-if-cached doesn't stop an unsafe method
    DELETE /a {Cache-Control: only-if-cached} -> fetch <- 204
    """#

// MARK: - Ranges

/// Ranges and parts (RFC 9111, sections 3.3 and 3.4; RFC 9110, sections 13 to 15).
let rangeCases = #"""
    # 9110 14.2 A range of a whole response is served: $
    for: bytes=0-2 :: 206 "012" {Content-Range: bytes 0-2/10 | Content-Length: 3} ;; bytes=9-9 :: 206 "9" {Content-Range: bytes 9-9/10} ;; bytes=7- :: 206 "789" {Content-Range: bytes 7-9/10} ;; bytes=-2 :: 206 "89" {Content-Range: bytes 8-9/10} ;; bytes=-20 :: 206 "0123456789" {Content-Range: bytes 0-9/10} ;; bytes=8-99 :: 206 "89" {Content-Range: bytes 8-9/10} ;; BYTES=0-0 :: 206 "0" ;; bytes=5-99999999999999999999999 :: 206 "56789"
    GET -> fetch <- 200 "0123456789" {Cache-Control: max-age=60 | ETag: "a"}
    GET {Range: $} -> serve => $$

    # 9110 14.2 A request for a range that can't be served gets the whole: $
    for: items=0-2 ;; bytes=2-1 ;; bytes= ;; bytes=- ;; bytes=a-b ;; bytes=0-1,3-4 ;; bytes 0-2 ;; bytes=-1-2
    GET -> fetch <- 200 "0123456789" {Cache-Control: max-age=60}
    GET {Range: $} -> serve => 200 "0123456789" {!Content-Range}

    # 9110 15.5.17 A range without bytes is an error: $
    for: bytes=10- ;; bytes=10-20 ;; bytes=-0
    GET -> fetch <- 200 "0123456789" {Cache-Control: max-age=60}
    GET {Range: $} -> serve => 416 "" {Content-Range: bytes */10}

    # 9110 14.2 HEAD has no ranges
    GET -> fetch <- 200 "0123456789" {Cache-Control: max-age=60}
    HEAD {Range: bytes=0-2} -> serve => 200 "" {!Content-Range}

    # 9110 14.2 Status 404 has no ranges
    GET -> fetch <- 404 "0123456789" {Cache-Control: max-age=60}
    GET {Range: bytes=0-2} -> serve => 404 "0123456789"

    # 9110 13.1.5 If-Range with the stored tag gets the range
    GET -> fetch <- 200 "0123456789" {Cache-Control: max-age=60 | ETag: "a"}
    GET {Range: bytes=0-2 | If-Range: "a"} -> serve => 206 "012"

    # 9110 13.1.5 If-Range with another validator gets the whole: $
    for: "b" ;; W/"a" ;; @0
    GET -> fetch <- 200 "0123456789" {Cache-Control: max-age=60 | ETag: "a"}
    GET {Range: bytes=0-2 | If-Range: $} -> serve => 200 "0123456789"

    # 9110 13.1.5 If-Range never matches a weak tag
    GET -> fetch <- 200 "0123456789" {Cache-Control: max-age=60 | ETag: W/"a"}
    GET {Range: bytes=0-2 | If-Range: W/"a"} -> serve => 200 "0123456789"

    # 9110 13.1.5 If-Range with the stored date gets the range
    GET -> fetch <- 200 "0123456789" {Cache-Control: max-age=60 | Date: @0 | Last-Modified: @-3600}
    GET {Range: bytes=0-2 | If-Range: @-3600} -> serve => 206 "012"

    # 9110 13.2.2 Other conditions are evaluated before the range
    GET -> fetch <- 200 "0123456789" {Cache-Control: max-age=60 | ETag: "a"}
    GET {Range: bytes=0-2 | If-None-Match: "a"} -> serve => 304

    # 4.3.1 A range of a stale response is validated
    GET -> fetch <- 200 "0123456789" {Cache-Control: max-age=60 | ETag: "a"}
    +60 GET {Range: bytes=0-2} -> validate {If-None-Match: "a"} <- 304 {ETag: "a"} => 206 "012" {Content-Range: bytes 0-2/10}
    GET -> serve => 200 "0123456789"

    # 3.3 A part isn't used as the whole
    GET {Range: bytes=0-2} -> fetch <- 206 "012" {Cache-Control: max-age=60 | Content-Range: bytes 0-2/10} => 206 "012"
    GET -> fetch
    HEAD -> fetch

    # 3.3 A part is used for its bytes: $
    for: bytes=2-4 :: 206 "234" {Content-Range: bytes 2-4/10} ;; bytes=3-3 :: 206 "3" {Content-Range: bytes 3-3/10 | Content-Length: 1}
    GET {Range: bytes=2-4} -> fetch <- 206 "234" {Cache-Control: max-age=60 | Content-Range: bytes 2-4/10}
    GET {Range: $} -> serve => $$

    # 3.3 A part isn't used for other bytes: $
    for: bytes=1-3 ;; bytes=2-5 ;; bytes=5- ;; bytes=2- ;; bytes=-3 ;; bytes=0-9
    GET {Range: bytes=2-4} -> fetch <- 206 "234" {Cache-Control: max-age=60 | Content-Range: bytes 2-4/10}
    GET {Range: $} -> fetch

    # 3.3 A request for the last bytes uses a part that states the total length
    GET {Range: bytes=-3} -> fetch <- 206 "789" {Cache-Control: max-age=60 | Content-Range: bytes 7-9/10}
    GET {Range: bytes=-2} -> serve => 206 "89"
    GET {Range: bytes=8-} -> serve => 206 "89"

    # 3.3 A request for the last bytes doesn't use a part that doesn't state the total length
    GET {Range: bytes=7-} -> fetch <- 206 "789" {Cache-Control: max-age=60 | Content-Range: bytes 7-9/*}
    GET {Range: bytes=-2} -> fetch
    GET {Range: bytes=8-} -> fetch
    GET {Range: bytes=8-9} -> serve => 206 "89" {Content-Range: bytes 8-9/*}

    # 3.3 A part with an invalid range isn't stored: $
    for: X: 1 ;; Content-Range: bytes 2-1/10 ;; Content-Range: items 0-2/10 ;; Content-Range: bytes 0-3/10 ;; Content-Range: bytes 0-2/2 ;; Content-Range: bytes */10
    GET {Range: bytes=0-2} -> fetch <- 206 "012" {Cache-Control: max-age=60 | ETag: "a" | $}
    GET {Range: bytes=0-2} -> fetch

    # 9110 14.4 In a response with status 200, a range has no meaning
    GET {Range: bytes=0-2} -> fetch <- 200 "012" {Cache-Control: max-age=60 | Content-Range: bytes 0-2/10}
    GET -> serve => 200 "012"

    # 3.3 A part with no-store isn't stored
    GET {Range: bytes=0-2} -> fetch <- 206 "012" {Cache-Control: no-store, max-age=60 | Content-Range: bytes 0-2/10}
    GET {Range: bytes=0-2} -> fetch

    # 3.3 A stale part is validated for its bytes
    GET {Range: bytes=0-2} -> fetch <- 206 "012" {Cache-Control: max-age=60 | Content-Range: bytes 0-2/10 | ETag: "a"}
    +60 GET {Range: bytes=0-1} -> validate {If-None-Match: "a"} <- 304 {ETag: "a"} => 206 "01"
    GET {Range: bytes=1-2} -> serve => 206 "12"

    # 4.3.2 The tag of a part isn't sent for other bytes
    GET {Range: bytes=0-2} -> fetch <- 206 "012" {Cache-Control: max-age=60 | Content-Range: bytes 0-2/10 | ETag: "a"}
    GET {Range: bytes=5-6} -> fetch

    # 3.3 A 206 with all bytes is the whole
    GET {Range: bytes=0-} -> fetch <- 206 "0123456789" {Cache-Control: max-age=60 | Content-Range: bytes 0-9/10}
    GET -> serve => 200 "0123456789" {!Content-Range | Content-Length: 10}

    # 3.3 A 200 to a request for a range is the whole
    GET {Range: bytes=0-2} -> fetch <- 200 "0123456789" {Cache-Control: max-age=60} => 200 "0123456789"
    GET {Range: bytes=0-2} -> serve => 206 "012"
    GET -> serve => 200 "0123456789"

    # 3.4 A part is completed
    GET {Range: bytes=0-4} -> fetch <- 206 "01234" {Cache-Control: max-age=60 | Content-Range: bytes 0-4/10 | ETag: "a"}
    GET -> complete {Range: bytes=5- | If-Range: "a"} <- 206 "56789" {Cache-Control: max-age=60 | Content-Range: bytes 5-9/10 | ETag: "a"} => 200 "0123456789" {!Content-Range | Content-Length: 10}
    GET -> serve => 200 "0123456789"

    # 3.4 A stale part is completed
    GET {Range: bytes=0-4} -> fetch <- 206 "01234" {Cache-Control: max-age=60 | Content-Range: bytes 0-4/10 | ETag: "a"}
    +60 GET -> complete {Range: bytes=5- | If-Range: "a"} <- 206 "56789" {Content-Range: bytes 5-9/10 | ETag: "a"} => 200 "0123456789" {Age: 0}
    +59 GET -> serve => 200 "0123456789"

    # 3.4 A part of an older version isn't completed
    GET {Range: bytes=0-4} -> fetch <- 206 "01234" {Cache-Control: max-age=60 | Content-Range: bytes 0-4/10 | ETag: "a"}
    GET -> complete {Range: bytes=5- | If-Range: "a"} <- 200 "abcdefghij" {Cache-Control: max-age=60 | ETag: "b"} => 200 "abcdefghij"
    GET -> serve => 200 "abcdefghij"

    # 3.4 A rest that isn't the missing one is requested again: $
    for: ETag: "b" | Content-Range: bytes 5-9/10 ;; ETag: W/"a" | Content-Range: bytes 5-9/10 ;; ETag: "a" | Content-Range: bytes 5-9/11 ;; Content-Range: bytes 5-9/10 ;; ETag: "a" | Content-Range: bytes 5-8/10 ;; ETag: "a"
    GET {Range: bytes=0-4} -> fetch <- 206 "01234" {Cache-Control: max-age=60 | Content-Range: bytes 0-4/10 | ETag: "a"}
    GET -> complete {Range: bytes=5- | If-Range: "a"} <- 206 "56789" {Cache-Control: max-age=60 | $} <- 200 "abcdefghij" {Cache-Control: max-age=60} => 200 "abcdefghij"
    GET -> serve => 200 "abcdefghij"

    # 3.4 A representation that has become shorter is requested again
    GET {Range: bytes=0-4} -> fetch <- 206 "01234" {Cache-Control: max-age=60 | Content-Range: bytes 0-4/10 | ETag: "a"}
    GET -> complete {Range: bytes=5- | If-Range: "a"} <- 416 {Content-Range: bytes */3} <- 200 "abc" {Cache-Control: max-age=60} => 200 "abc"
    GET -> serve => 200 "abc"

    # 3.4 A part without a strong validator isn't completed: $
    for: ETag: W/"a" ;; X: 1 ;; Last-Modified: @-10 | Date: @0
    GET {Range: bytes=0-4} -> fetch <- 206 "01234" {Cache-Control: max-age=60 | Content-Range: bytes 0-4/10 | $}
    GET -> fetch

    # 3.4 A part is completed by its date
    GET {Range: bytes=0-4} -> fetch <- 206 "01234" {Cache-Control: max-age=60 | Content-Range: bytes 0-4/10 | Last-Modified: Sun, 06 Nov 1994 07:49:37 GMT | Date: @0}
    GET -> complete {Range: bytes=5- | If-Range: Sun, 06 Nov 1994 07:49:37 GMT} <- 206 "56789" {Cache-Control: max-age=60 | Content-Range: bytes 5-9/10 | Last-Modified: Sun, 06 Nov 1994 07:49:37 GMT | Date: @0} => 200 "0123456789"

    # 3.4 A part that ends at the end is completed
    GET {Range: bytes=5-9} -> fetch <- 206 "56789" {Cache-Control: max-age=60 | Content-Range: bytes 5-9/10 | ETag: "a"}
    GET -> complete {Range: bytes=0-4 | If-Range: "a"} <- 206 "01234" {Cache-Control: max-age=60 | Content-Range: bytes 0-4/10 | ETag: "a"} => 200 "0123456789"
    GET -> serve => 200 "0123456789"

    # 3.4 A part in the middle isn't completed
    GET {Range: bytes=3-5} -> fetch <- 206 "345" {Cache-Control: max-age=60 | Content-Range: bytes 3-5/10 | ETag: "a"}
    GET -> fetch

    # 3.4 A part without the length of the whole isn't completed from its end
    GET {Range: bytes=5-9} -> fetch <- 206 "56789" {Cache-Control: max-age=60 | Content-Range: bytes 5-9/* | ETag: "a"}
    GET -> fetch

    # 3.4 A range that begins in a part needs only the rest: $
    for: bytes=4-7 :: bytes=6-7 ;; bytes=3-9 :: bytes=6-9 ;; bytes=5- :: bytes=6-9 ;; bytes=-7 :: bytes=6-9
    GET {Range: bytes=3-5} -> fetch <- 206 "345" {Cache-Control: max-age=60 | Content-Range: bytes 3-5/10 | ETag: "a"}
    GET {Range: $} -> complete {Range: $$ | If-Range: "a"}

    # 3.4 A range that ends in a part needs only the rest: $
    for: bytes=0-5 :: bytes=0-2 ;; bytes=1-3 :: bytes=1-2 ;; bytes=2-4 :: bytes=2-2
    GET {Range: bytes=3-5} -> fetch <- 206 "345" {Cache-Control: max-age=60 | Content-Range: bytes 3-5/10 | ETag: "a"}
    GET {Range: $} -> complete {Range: $$ | If-Range: "a"}

    # 3.4 A range that isn't next to a part, or on both of its sides, is requested as it is: $
    for: bytes=0-1 ;; bytes=6-9 ;; bytes=0-9 ;; bytes=-1 ;; bytes=7-
    GET {Range: bytes=3-5} -> fetch <- 206 "345" {Cache-Control: max-age=60 | Content-Range: bytes 3-5/10 | ETag: "a"}
    GET {Range: $} -> fetch

    # 3.4 A completed range is the answer, and is stored
    GET {Range: bytes=0-4} -> fetch <- 206 "01234" {Cache-Control: max-age=60 | Content-Range: bytes 0-4/10 | ETag: "a"}
    GET {Range: bytes=3-7} -> complete {Range: bytes=5-7 | If-Range: "a"} <- 206 "567" {Cache-Control: max-age=60 | Content-Range: bytes 5-7/10 | ETag: "a"} => 206 "34567" {Content-Range: bytes 3-7/10 | Content-Length: 5}
    GET {Range: bytes=0-7} -> serve => 206 "01234567"

    # 3.4 An open range of an unknown length needs only the rest
    GET {Range: bytes=0-4} -> fetch <- 206 "01234" {Cache-Control: max-age=60 | Content-Range: bytes 0-4/* | ETag: "a"}
    GET {Range: bytes=2-} -> complete {Range: bytes=5- | If-Range: "a"} <- 206 "56789" {Cache-Control: max-age=60 | Content-Range: bytes 5-9/10 | ETag: "a"} => 206 "23456789" {Content-Range: bytes 2-9/10}

    # 3.4 If the resource has changed, a range is not completed
    GET {Range: bytes=0-4} -> fetch <- 206 "01234" {Cache-Control: max-age=60 | Content-Range: bytes 0-4/10 | ETag: "a"}
    GET {Range: bytes=3-7} -> complete {Range: bytes=5-7 | If-Range: "a"} <- 200 "abcdefghij" {Cache-Control: max-age=60 | ETag: "b"} => 200 "abcdefghij"

    # 3.4 A client's own If-Range must hold for the part
    GET {Range: bytes=0-4} -> fetch <- 206 "01234" {Cache-Control: max-age=60 | Content-Range: bytes 0-4/10 | ETag: "a"}
    GET {Range: bytes=3-7 | If-Range: "b"} -> fetch

    # 3.4 Parts with the same strong tag are combined: 2-4 and $
    for: 3-7 :: "34567" ;; 5-7 :: "567" ;; 4-7 :: "4567" ;; 2-7 :: "234567"
    GET {Range: bytes=2-4} -> fetch <- 206 "234" {Cache-Control: max-age=60 | Content-Range: bytes 2-4/10 | ETag: "a"}
    GET (reload) {Range: bytes=$} -> fetch <- 206 $$ {Cache-Control: max-age=60 | Content-Range: bytes $/10 | ETag: "a"}
    GET {Range: bytes=2-7} -> serve => 206 "234567" {Content-Range: bytes 2-7/10}
    GET {Range: bytes=3-6} -> serve => 206 "3456" {Content-Range: bytes 3-6/10}

    # 3.4 An earlier part is combined
    GET {Range: bytes=5-9} -> fetch <- 206 "56789" {Cache-Control: max-age=60 | Content-Range: bytes 5-9/10 | ETag: "a"}
    GET (reload) {Range: bytes=0-5} -> fetch <- 206 "012345" {Cache-Control: max-age=60 | Content-Range: bytes 0-5/10 | ETag: "a"}
    GET -> serve => 200 "0123456789"

    # 3.4 A part within another updates it
    GET {Range: bytes=2-8} -> fetch <- 206 "2345678" {Cache-Control: max-age=60 | Content-Range: bytes 2-8/10 | ETag: "a"}
    +60 GET (reload) {Range: bytes=4-5} -> fetch <- 206 "45" {Cache-Control: max-age=60 | Content-Range: bytes 4-5/10 | ETag: "a"}
    GET {Range: bytes=2-8} -> serve => 206 "2345678"

    # 3.4 If there is a gap between parts, the newer part remains
    GET {Range: bytes=0-1} -> fetch <- 206 "01" {Cache-Control: max-age=60 | Content-Range: bytes 0-1/10 | ETag: "a"}
    GET {Range: bytes=5-6} -> fetch <- 206 "56" {Cache-Control: max-age=60 | Content-Range: bytes 5-6/10 | ETag: "a"}
    GET {Range: bytes=5-6} -> serve => 206 "56"
    GET {Range: bytes=0-1} -> fetch

    # 3.4 Parts without the same strong validator aren't combined: $
    for: ETag: "b" ;; ETag: W/"a" ;; X: 1
    GET {Range: bytes=0-4} -> fetch <- 206 "01234" {Cache-Control: max-age=60 | Content-Range: bytes 0-4/10 | ETag: "a"}
    GET {Range: bytes=5-9} -> fetch <- 206 "abcde" {Cache-Control: max-age=60 | Content-Range: bytes 5-9/10 | $}
    GET (cacheOnly) {Range: bytes=0-9} -> fail
    GET {Range: bytes=5-9} -> serve => 206 "abcde"

    # 3.4 Parts with the same weak tag aren't combined
    GET {Range: bytes=0-4} -> fetch <- 206 "01234" {Cache-Control: max-age=60 | Content-Range: bytes 0-4/10 | ETag: W/"a"}
    GET {Range: bytes=5-9} -> fetch <- 206 "56789" {Cache-Control: max-age=60 | Content-Range: bytes 5-9/10 | ETag: W/"a"}
    GET {Range: bytes=0-9} -> fetch

    # 3.4 A part of the stored whole updates it
    GET -> fetch <- 200 "0123456789" {Cache-Control: max-age=60 | ETag: "a" | X-A: 1}
    +60 GET (reload) {Range: bytes=0-2} -> fetch <- 206 "012" {Cache-Control: max-age=60 | Content-Range: bytes 0-2/10 | ETag: "a" | X-A: 2} => 206 "012"
    +59 GET -> serve => 200 "0123456789" {X-A: 2 | !Content-Range}

    # 3.4 A part of another version replaces the whole
    GET -> fetch <- 200 "0123456789" {Cache-Control: max-age=60 | ETag: "a"}
    GET (reload) {Range: bytes=0-2} -> fetch <- 206 "abc" {Cache-Control: max-age=60 | Content-Range: bytes 0-2/10 | ETag: "b"}
    GET {Range: bytes=0-2} -> serve => 206 "abc"
    GET -> complete {Range: bytes=3- | If-Range: "b"}

    # 3.4 The whole replaces a part
    GET {Range: bytes=0-2} -> fetch <- 206 "012" {Cache-Control: max-age=60 | Content-Range: bytes 0-2/10}
    GET -> fetch <- 200 "0123456789" {Cache-Control: max-age=60}
    GET {Range: bytes=0-2} -> serve => 206 "012"
    GET -> serve => 200 "0123456789"

    # 3.3 A truncated response is a part
    GET -> fetch <- cut 200 "01234" {Cache-Control: max-age=60 | Content-Length: 10 | ETag: "a"}
    GET {Range: bytes=1-3} -> serve => 206 "123" {Content-Range: bytes 1-3/10}
    GET -> complete {Range: bytes=5- | If-Range: "a"} <- 206 "56789" {Cache-Control: max-age=60 | Content-Range: bytes 5-9/10 | ETag: "a"} => 200 "0123456789"
    GET -> serve => 200 "0123456789"

    # 3.3 A truncated part is a shorter part
    GET {Range: bytes=2-8} -> fetch <- cut 206 "234" {Cache-Control: max-age=60 | Content-Range: bytes 2-8/10 | ETag: "a"}
    GET {Range: bytes=2-4} -> serve => 206 "234" {Content-Range: bytes 2-4/10}
    GET {Range: bytes=2-8} -> complete {Range: bytes=5-8 | If-Range: "a"}

    # 3.3 A truncated completion leaves a longer part
    GET {Range: bytes=0-2} -> fetch <- 206 "012" {Cache-Control: max-age=60 | Content-Range: bytes 0-2/10 | ETag: "a"}
    GET -> complete {Range: bytes=3- | If-Range: "a"} <- cut 206 "34" {Cache-Control: max-age=60 | Content-Range: bytes 3-9/10 | ETag: "a"}
    GET -> complete {Range: bytes=5- | If-Range: "a"}

    # 3.3 A truncated response isn't stored: $
    for: Content-Length: 10 ;; Content-Length: 10 | ETag: W/"a" ;; ETag: "a" ;; Content-Length: 5 | ETag: "a" ;; Content-Length: x | ETag: "a" ;; Content-Length: 10 | ETag: "a" | Cache-Control: no-store
    GET -> fetch <- cut 200 "01234" {Cache-Control: max-age=60 | $}
    GET -> fetch

    # 3.3 A part at the end of the largest possible representation doesn't overflow
    GET {Range: bytes=9223372036854775806-} -> fetch <- cut 206 "01234" {Cache-Control: max-age=60 | Content-Range: bytes 9223372036854775806-9223372036854775806/* | ETag: "a"}
    GET {Range: bytes=9223372036854775806-9223372036854775807} -> fetch

    # 3.3 A part with more bytes than announced isn't stored
    GET {Range: bytes=2-3} -> fetch <- cut 206 "23456" {Cache-Control: max-age=60 | Content-Range: bytes 2-3/10 | ETag: "a"}
    GET {Range: bytes=2-3} -> fetch

    # 3.3 A truncated response doesn't replace a whole one
    GET -> fetch <- 200 "0123456789" {Cache-Control: max-age=60, stale-if-error=60 | ETag: "a"}
    +60 GET -> validate {If-None-Match: "a"} <- cut 200 "abc" {Cache-Control: max-age=60 | Content-Length: 10 | ETag: "b"}
    GET -> validate {If-None-Match: "a"} <- failure => 200 "0123456789"

    # 3.3 A truncated error isn't stored
    GET -> fetch <- cut 404 "01234" {Cache-Control: max-age=60 | Content-Length: 10 | ETag: "a"}
    GET -> fetch

    # 4.1 Parts of different variants aren't combined
    GET {Range: bytes=0-4 | X-A: 1} -> fetch <- 206 "01234" {Cache-Control: max-age=60 | Content-Range: bytes 0-4/10 | ETag: "a" | Vary: X-A}
    GET {Range: bytes=5-9 | X-A: 2} -> fetch <- 206 "56789" {Cache-Control: max-age=60 | Content-Range: bytes 5-9/10 | ETag: "a" | Vary: X-A}
    GET (cacheOnly) {Range: bytes=0-9 | X-A: 1} -> fail
    GET {Range: bytes=0-4 | X-A: 1} -> serve => 206 "01234"
    """#
