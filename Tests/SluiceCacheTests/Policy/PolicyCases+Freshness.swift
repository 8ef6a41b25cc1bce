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

    # 9110 5.6.7 A year with two digits is at most 50 years in the future
    GET -> fetch <- 200 {Expires: Sunday, 06-Nov-44 08:49:37 GMT}
    +1577836800 GET -> serve

    # 9110 5.6.7 A year with two digits that would be more than 50 years ahead is in the past
    GET -> fetch <- 200 {Expires: Monday, 06-Nov-45 08:49:37 GMT | ETag: "a"}
    GET -> validate {If-None-Match: "a"}

    # 4.2.2 Without a lifetime, a response is fresh for a tenth of the time since its modification
    GET -> fetch <- 200 {Last-Modified: @-3600}
    +359 GET -> serve
    +1 GET -> validate {If-Modified-Since: @-3960}

    # 4.2.2 The estimate counts from the server's date
    GET -> fetch <- 200 {Last-Modified: @-3600 | Date: @-30}
    +326 GET -> serve
    +1 GET -> validate {If-Modified-Since: @-3927}

    # 4.2.2 The estimate has a limit
    GET -> fetch <- 200 {Last-Modified: @-100000000}
    +86399 GET -> serve
    +1 GET -> validate {If-Modified-Since: @-100086400}

    # 4.2.2 A modification in the future gives no lifetime: $
    for: @60 ;; @0
    GET -> fetch <- 200 {Last-Modified: $}
    GET -> validate {If-Modified-Since: $}

    # 4.2.2 An invalid modification gives no lifetime
    GET -> fetch <- 200 {Last-Modified: never | ETag: "a"}
    GET -> validate {If-None-Match: "a"}

    # 4.2.2 A stated lifetime is never extended: $
    for: Cache-Control: max-age=0 ;; Expires: @-1 ;; Expires: 0
    GET -> fetch <- 200 {$ | Last-Modified: @-100000}
    GET -> validate {If-Modified-Since: @-100000}

    # 4.2.2 A status that isn't cacheable by itself has no estimated lifetime
    GET -> fetch <- 599 {Cache-Control: private | Last-Modified: @-100000}
    GET -> validate {If-Modified-Since: @-100000}

    # 4.2.2 A public response has an estimated lifetime
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

    # 4.2.3 The time since the server's date is an age
    GET -> fetch <- 200 {Cache-Control: max-age=60 | Date: @-30}
    +29 GET -> serve => 200 {Age: 59}
    +1 GET -> fetch

    # 4.2.3 The larger of both ages counts: $
    for: Age: 30 | Date: @-20 ;; Age: 20 | Date: @-30
    GET -> fetch <- 200 {Cache-Control: max-age=60 | $}
    +29 GET -> serve => 200 {Age: 59}
    +1 GET -> fetch

    # 4.2.3 A date in the future is no age
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
