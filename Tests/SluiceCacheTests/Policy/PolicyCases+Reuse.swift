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

    # 5.2.2.4 Fields that no-cache names are left out without validation: $
    for: no-cache="X-A, X-B" ;; no-cache="x-a,,X-B" ;; no-cache="X-A", no-cache=X-B
    GET -> fetch <- 200 {Cache-Control: max-age=60, $ | X-A: 1 | X-B: 2 | X-C: 3 | ETag: "a"}
    GET -> serve => 200 "1" {!X-A | !X-B | X-C: 3}
    +60 GET -> validate {If-None-Match: "a"} <- 304 => 200 "1" {X-A: 1 | X-B: 2 | X-C: 3}

    # 5.2.1.4 A request with no-cache is validated: $
    for: no-cache ;; NO-CACHE ;; max-stale, no-cache ;; no-cache="X"
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    GET {Cache-Control: $} -> validate {If-None-Match: "a"} <- 304 => 200 "1"

    # 5.2.1.4 Without a validator, a request with no-cache is sent as it is
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

    # 5.2.1.2 max-stale and max-age extend one another
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

    # 5.2.1.7 only-if-cached fails with a stale response
    GET -> fetch <- 200 {Cache-Control: max-age=60 | ETag: "a"}
    +60 GET {Cache-Control: only-if-cached} -> fail => 504
    GET {Cache-Control: only-if-cached, max-stale} -> serve

    # 5.2.1.7 only-if-cached fails with another variant
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

    # 8246 2 A request with no-cache is validated all the same
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
