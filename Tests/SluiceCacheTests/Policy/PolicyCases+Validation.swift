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

    # 4.3.1 The fields of the request are kept
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    +60 GET {X-A: 1} -> validate {If-None-Match: "a"}

    # 4.3.1 HEAD validates, too
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    +60 HEAD -> validate {If-None-Match: "a"} <- 304 {ETag: "a"} => 200 ""
    GET -> serve

    # 4.3.3 A full response takes the place of the stored one
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

    # 4.3.4 A 304 may forbid to store the response any longer
    GET -> fetch <- 200 {Cache-Control: no-cache | ETag: "a"}
    GET -> validate {If-None-Match: "a"} <- 304 {ETag: "a" | Cache-Control: no-store} => 200 "1"
    GET -> fetch

    # 4.3.4 A 304 that nothing is stored for isn't an answer
    GET -> fetch <- 304 <- 200 "new" => 200 "new"

    # 3.2 A 304 replaces the field: $
    for: Cache-Control: max-age=5 ;; Content-Type: text/b ;; Content-Location: /b ;; Set-Cookie: a=b ;; X-A: new ;; Link: new ;; Expires: @600
    GET -> fetch <- 200 {Cache-Control: no-cache | ETag: "a" | Content-Type: text/a | X-A: old | X-A: older}
    GET -> validate {If-None-Match: "a"} <- 304 {ETag: "a" | $} => 200 "1" {$}

    # 3.2 A 304 keeps the fields that it doesn't have
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a" | X-A: old}
    +60 GET -> validate {If-None-Match: "a"} <- 304 {ETag: "a"} => 200 {X-A: old | Cache-Control: max-age=60}

    # 3.2 A 304 doesn't change what describes the bytes: $
    for: Content-Length: 0 ;; Content-Encoding: gzip ;; Content-Range: bytes 0-0/1
    GET -> fetch <- 200 "body" {Cache-Control: max-age=60 | ETag: "a" | Content-Length: 4 | Content-Encoding: br}
    +60 GET -> validate {If-None-Match: "a"} <- 304 {ETag: "a" | $} => 200 "body" {Content-Length: 4 | Content-Encoding: br | !Content-Range}

    # 3.2 A 304's fields about the connection aren't stored: $
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

    # 4.3.2 A client that has another response gets the whole: $
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

    # 4.3.2 Without a modification, the date of the response counts
    GET -> fetch <- 200 {Cache-Control: max-age=60 | Date: @-30}
    GET {If-Modified-Since: @-30} -> serve => 304
    GET {If-Modified-Since: @-31} -> serve => 200

    # 4.3.2 A tag precedes a date
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

    # 4.3.2 The client's star is sent as it is
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    +60 GET {If-None-Match: *} -> fetch <- 304 => 304

    # 4.3.2 The server evaluates $
    for: If-Match: "a" ;; If-Unmodified-Since: @0
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    GET {$} -> fetch <- 412 => 412

    # 4.3.2 A client's condition without a stored response is sent as it is
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

    # 4.3.5 A response to HEAD leaves other variants
    GET {X-A: 1} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: X-A | ETag: "a"}
    HEAD (reload) {X-A: 2} -> fetch <- 200 {Vary: X-A | ETag: "b"}
    GET {X-A: 1} -> serve

    # 4.3.5 An error of HEAD changes nothing: $
    for: 404 ;; 500
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    HEAD (reload) -> fetch <- $
    GET -> serve
    """#
