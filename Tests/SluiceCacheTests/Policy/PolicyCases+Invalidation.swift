/// What requests with unsafe methods remove (RFC 9111, section 4.4).
let invalidationCases = #"""
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

    # 4.4 A URL of another origin isn't invalidated: $
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

    # 4.4 A response to POST that is stored takes the place of the invalidated one
    GET /a -> fetch <- 200 {Cache-Control: max-age=60}
    POST /a -> fetch <- 200 {Cache-Control: max-age=60 | Content-Location: /a}
    GET /a -> serve => 200 "2"

    # 4.4 A request from the client's only-if-cached doesn't stop an unsafe method
    DELETE /a {Cache-Control: only-if-cached} -> fetch <- 204
    """#
