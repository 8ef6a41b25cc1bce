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

    # 4.1 A newer response takes the place of its variant only
    GET {X-A: 1} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: X-A}
    GET {X-A: 2} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: X-A}
    GET {X-A: 1 | Cache-Control: no-cache} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: X-A}
    GET {X-A: 1} -> serve => 200 "3"
    GET {X-A: 2} -> serve => 200 "2"

    # 4.1 A star matches nothing: $
    for: * ;; X-A, * ;; *, X-A
    GET {X-A: 1} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: $}
    GET {X-A: 1} -> fetch

    # 4.1 A name that can't be a field's matches nothing
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

    # 4.1 Languages with another meaning don't match: $
    for: en-US ;; en-US, de ;; en-US, de;q=0.6 ;; de, en-US;q=0.5 ;; en, de;q=0.5 ;; en-US, de;q=0.5, fr
    GET {Accept-Language: en-US, de;q=0.5} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: Accept-Language}
    GET {Accept-Language: $} -> fetch

    # 4.1 Codings with the same meaning match
    GET {Accept-Encoding: gzip, br;q=0.5} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: Accept-Encoding}
    GET {Accept-Encoding: BR;q=0.50,gzip} -> serve

    # 4.1 A response with Vary precedes one without
    GET {X-A: 1} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: X-A}
    +1 GET {X-A: 2} -> fetch <- 200 {Cache-Control: max-age=60}
    GET {X-A: 1} -> serve => 200 "1"
    GET {X-A: 2} -> serve => 200 "2"

    # 4 The most recent of several responses is used
    GET {X-A: 1 | X-B: 1} -> fetch <- 200 {Cache-Control: max-age=600 | Vary: X-A | Date: @-30}
    GET {X-A: 2 | X-B: 1} -> fetch <- 200 {Cache-Control: max-age=600 | Vary: X-B | Date: @-60}
    GET {X-A: 1 | X-B: 1} -> serve => 200 "1"

    # 4 The most recent response is used, in the order of arrival too
    GET {X-A: 1 | X-B: 1} -> fetch <- 200 {Cache-Control: max-age=600 | Vary: X-A | Date: @-60}
    GET {X-A: 2 | X-B: 1} -> fetch <- 200 {Cache-Control: max-age=600 | Vary: X-B | Date: @-30}
    GET {X-A: 1 | X-B: 1} -> serve => 200 "2"

    # 4.3.1 A request without a variant names the tags of all variants
    GET {X-A: 1} -> fetch <- 200 {Cache-Control: max-age=60 | Vary: X-A | ETag: "a"}
    GET {X-A: 2} -> validate {If-None-Match: "a"} <- 200 {Cache-Control: max-age=60 | Vary: X-A | ETag: "b"}
    GET {X-A: 3} -> validate {If-None-Match: "a", "b"} <- 304 {ETag: "b"} => 200 "2"
    GET {X-A: 1} -> serve => 200 "1"

    # 4.3.4 A 304 changes what the response varies by
    GET {X-A: 1} -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    +60 GET {X-A: 2} -> validate {If-None-Match: "a"} <- 304 {ETag: "a" | Vary: X-A} => 200 "1"
    GET {X-A: 2} -> serve => 200 "1"
    GET {X-A: 1} -> validate {If-None-Match: "a"}

    # 4.3.4 A 304 with a star ends the use of the response
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    +60 GET -> validate {If-None-Match: "a"} <- 304 {ETag: "a" | Vary: *} => 200 "1"
    GET -> fetch

    # 4.1 A URL has at most 16 variants, parts included
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
