/// Ranges and parts (RFC 9111, sections 3.3 and 3.4; RFC 9110, sections 13 to 15).
let rangeCases = #"""
    # 9110 14.2 A range of a whole response is served: $
    for: bytes=0-2 :: 206 "012" {Content-Range: bytes 0-2/10 | Content-Length: 3} ;; bytes=9-9 :: 206 "9" {Content-Range: bytes 9-9/10} ;; bytes=7- :: 206 "789" {Content-Range: bytes 7-9/10} ;; bytes=-2 :: 206 "89" {Content-Range: bytes 8-9/10} ;; bytes=-20 :: 206 "0123456789" {Content-Range: bytes 0-9/10} ;; bytes=8-99 :: 206 "89" {Content-Range: bytes 8-9/10} ;; BYTES=0-0 :: 206 "0" ;; bytes=5-99999999999999999999999 :: 206 "56789"
    GET -> fetch <- 200 "0123456789" {Cache-Control: max-age=60 | ETag: "a"}
    GET {Range: $} -> serve => $$

    # 9110 14.2 A range that can't be served gets the whole: $
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

    # 9110 13.2.2 Other conditions precede the range
    GET -> fetch <- 200 "0123456789" {Cache-Control: max-age=60 | ETag: "a"}
    GET {Range: bytes=0-2 | If-None-Match: "a"} -> serve => 304

    # 4.3.1 A range of a stale response is validated
    GET -> fetch <- 200 "0123456789" {Cache-Control: max-age=60 | ETag: "a"}
    +60 GET {Range: bytes=0-2} -> validate {If-None-Match: "a"} <- 304 {ETag: "a"} => 206 "012" {Content-Range: bytes 0-2/10}
    GET -> serve => 200 "0123456789"

    # 3.3 A part isn't used in place of the whole
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

    # 3.3 The last bytes of a part are known if it tells the length
    GET {Range: bytes=-3} -> fetch <- 206 "789" {Cache-Control: max-age=60 | Content-Range: bytes 7-9/10}
    GET {Range: bytes=-2} -> serve => 206 "89"
    GET {Range: bytes=8-} -> serve => 206 "89"

    # 3.3 The last bytes of a part are unknown if it doesn't tell the length
    GET {Range: bytes=7-} -> fetch <- 206 "789" {Cache-Control: max-age=60 | Content-Range: bytes 7-9/*}
    GET {Range: bytes=-2} -> fetch
    GET {Range: bytes=8-} -> fetch
    GET {Range: bytes=8-9} -> serve => 206 "89" {Content-Range: bytes 8-9/*}

    # 3.3 A part with an invalid range isn't stored: $
    for: X: 1 ;; Content-Range: bytes 2-1/10 ;; Content-Range: items 0-2/10 ;; Content-Range: bytes 0-3/10 ;; Content-Range: bytes 0-2/2 ;; Content-Range: bytes */10
    GET {Range: bytes=0-2} -> fetch <- 206 "012" {Cache-Control: max-age=60 | ETag: "a" | $}
    GET {Range: bytes=0-2} -> fetch

    # 3.3 A 200 with a range may be a part, and isn't stored
    GET {Range: bytes=0-2} -> fetch <- 200 "012" {Cache-Control: max-age=60 | Content-Range: bytes 0-2/10}
    GET -> fetch

    # 3.3 A part with no-store isn't stored
    GET {Range: bytes=0-2} -> fetch <- 206 "012" {Cache-Control: no-store, max-age=60 | Content-Range: bytes 0-2/10}
    GET {Range: bytes=0-2} -> fetch

    # 3.3 A stale part is validated for its bytes
    GET {Range: bytes=0-2} -> fetch <- 206 "012" {Cache-Control: max-age=60 | Content-Range: bytes 0-2/10 | ETag: "a"}
    +60 GET {Range: bytes=0-1} -> validate {If-None-Match: "a"} <- 304 {ETag: "a"} => 206 "01"
    GET {Range: bytes=1-2} -> serve => 206 "12"

    # 4.3.2 The tag of a part isn't named for other bytes
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

    # 3.4 A part of another version isn't completed
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

    # 3.4 A part that doesn't begin at the start isn't completed
    GET {Range: bytes=5-9} -> fetch <- 206 "56789" {Cache-Control: max-age=60 | Content-Range: bytes 5-9/10 | ETag: "a"}
    GET -> fetch

    # 3.4 Parts with the same strong tag are combined: 2-4 and $
    for: 3-7 :: "34567" ;; 5-7 :: "567" ;; 4-7 :: "4567" ;; 2-7 :: "234567"
    GET {Range: bytes=2-4} -> fetch <- 206 "234" {Cache-Control: max-age=60 | Content-Range: bytes 2-4/10 | ETag: "a"}
    GET {Range: bytes=$} -> fetch <- 206 $$ {Cache-Control: max-age=60 | Content-Range: bytes $/10 | ETag: "a"}
    GET {Range: bytes=2-7} -> serve => 206 "234567" {Content-Range: bytes 2-7/10}
    GET {Range: bytes=3-6} -> serve => 206 "3456" {Content-Range: bytes 3-6/10}

    # 3.4 An earlier part is combined
    GET {Range: bytes=5-9} -> fetch <- 206 "56789" {Cache-Control: max-age=60 | Content-Range: bytes 5-9/10 | ETag: "a"}
    GET {Range: bytes=0-5} -> fetch <- 206 "012345" {Cache-Control: max-age=60 | Content-Range: bytes 0-5/10 | ETag: "a"}
    GET -> serve => 200 "0123456789"

    # 3.4 A part within another updates it
    GET {Range: bytes=2-8} -> fetch <- 206 "2345678" {Cache-Control: max-age=60 | Content-Range: bytes 2-8/10 | ETag: "a"}
    +60 GET (reload) {Range: bytes=4-5} -> fetch <- 206 "45" {Cache-Control: max-age=60 | Content-Range: bytes 4-5/10 | ETag: "a"}
    GET {Range: bytes=2-8} -> serve => 206 "2345678"

    # 3.4 Of parts with a gap, the newer one remains
    GET {Range: bytes=0-1} -> fetch <- 206 "01" {Cache-Control: max-age=60 | Content-Range: bytes 0-1/10 | ETag: "a"}
    GET {Range: bytes=5-6} -> fetch <- 206 "56" {Cache-Control: max-age=60 | Content-Range: bytes 5-6/10 | ETag: "a"}
    GET {Range: bytes=5-6} -> serve => 206 "56"
    GET {Range: bytes=0-1} -> fetch

    # 3.4 Parts without the same strong validator aren't combined: $
    for: ETag: "b" ;; ETag: W/"a" ;; X: 1
    GET {Range: bytes=0-4} -> fetch <- 206 "01234" {Cache-Control: max-age=60 | Content-Range: bytes 0-4/10 | ETag: "a"}
    GET {Range: bytes=5-9} -> fetch <- 206 "abcde" {Cache-Control: max-age=60 | Content-Range: bytes 5-9/10 | $}
    GET {Range: bytes=0-9} -> fetch
    GET {Range: bytes=5-9} -> serve => 206 "abcde"

    # 3.4 Parts with the same weak tag aren't combined
    GET {Range: bytes=0-4} -> fetch <- 206 "01234" {Cache-Control: max-age=60 | Content-Range: bytes 0-4/10 | ETag: W/"a"}
    GET {Range: bytes=5-9} -> fetch <- 206 "56789" {Cache-Control: max-age=60 | Content-Range: bytes 5-9/10 | ETag: W/"a"}
    GET {Range: bytes=0-9} -> fetch

    # 3.4 A part of the stored whole updates it
    GET -> fetch <- 200 "0123456789" {Cache-Control: max-age=60 | ETag: "a" | X-A: 1}
    +60 GET (reload) {Range: bytes=0-2} -> fetch <- 206 "012" {Cache-Control: max-age=60 | Content-Range: bytes 0-2/10 | ETag: "a" | X-A: 2} => 206 "012"
    +59 GET -> serve => 200 "0123456789" {X-A: 2 | !Content-Range}

    # 3.4 A part of another version takes the place of the whole
    GET -> fetch <- 200 "0123456789" {Cache-Control: max-age=60 | ETag: "a"}
    GET (reload) {Range: bytes=0-2} -> fetch <- 206 "abc" {Cache-Control: max-age=60 | Content-Range: bytes 0-2/10 | ETag: "b"}
    GET {Range: bytes=0-2} -> serve => 206 "abc"
    GET -> complete {Range: bytes=3- | If-Range: "b"}

    # 3.4 The whole takes the place of a part
    GET {Range: bytes=0-2} -> fetch <- 206 "012" {Cache-Control: max-age=60 | Content-Range: bytes 0-2/10}
    GET -> fetch <- 200 "0123456789" {Cache-Control: max-age=60}
    GET {Range: bytes=0-2} -> serve => 206 "012"
    GET -> serve => 200 "0123456789"

    # 3.3 A response that was cut off is a part
    GET -> fetch <- cut 200 "01234" {Cache-Control: max-age=60 | Content-Length: 10 | ETag: "a"}
    GET {Range: bytes=1-3} -> serve => 206 "123" {Content-Range: bytes 1-3/10}
    GET -> complete {Range: bytes=5- | If-Range: "a"} <- 206 "56789" {Cache-Control: max-age=60 | Content-Range: bytes 5-9/10 | ETag: "a"} => 200 "0123456789"
    GET -> serve => 200 "0123456789"

    # 3.3 A part that was cut off is a shorter part
    GET {Range: bytes=2-8} -> fetch <- cut 206 "234" {Cache-Control: max-age=60 | Content-Range: bytes 2-8/10 | ETag: "a"}
    GET {Range: bytes=2-4} -> serve => 206 "234" {Content-Range: bytes 2-4/10}
    GET {Range: bytes=2-8} -> fetch

    # 3.3 A completion that was cut off leaves a longer part
    GET {Range: bytes=0-2} -> fetch <- 206 "012" {Cache-Control: max-age=60 | Content-Range: bytes 0-2/10 | ETag: "a"}
    GET -> complete {Range: bytes=3- | If-Range: "a"} <- cut 206 "34" {Cache-Control: max-age=60 | Content-Range: bytes 3-9/10 | ETag: "a"}
    GET -> complete {Range: bytes=5- | If-Range: "a"}

    # 3.3 A response that was cut off isn't stored: $
    for: Content-Length: 10 ;; Content-Length: 10 | ETag: W/"a" ;; ETag: "a" ;; Content-Length: 5 | ETag: "a" ;; Content-Length: x | ETag: "a" ;; Content-Length: 10 | ETag: "a" | Cache-Control: no-store
    GET -> fetch <- cut 200 "01234" {Cache-Control: max-age=60 | $}
    GET -> fetch

    # 3.3 A part at the end of the largest representation isn't too much
    GET {Range: bytes=9223372036854775806-} -> fetch <- cut 206 "01234" {Cache-Control: max-age=60 | Content-Range: bytes 9223372036854775806-9223372036854775806/* | ETag: "a"}
    GET {Range: bytes=9223372036854775806-9223372036854775807} -> fetch

    # 3.3 A part with more bytes than announced isn't stored
    GET {Range: bytes=2-3} -> fetch <- cut 206 "23456" {Cache-Control: max-age=60 | Content-Range: bytes 2-3/10 | ETag: "a"}
    GET {Range: bytes=2-3} -> fetch

    # 3.3 A response that was cut off doesn't take the place of a whole one
    GET -> fetch <- 200 "0123456789" {Cache-Control: max-age=60, stale-if-error=60 | ETag: "a"}
    +60 GET -> validate {If-None-Match: "a"} <- cut 200 "abc" {Cache-Control: max-age=60 | Content-Length: 10 | ETag: "b"}
    GET -> validate {If-None-Match: "a"} <- failure => 200 "0123456789"

    # 3.3 An error that was cut off isn't stored
    GET -> fetch <- cut 404 "01234" {Cache-Control: max-age=60 | Content-Length: 10 | ETag: "a"}
    GET -> fetch

    # 4.1 Parts of different variants aren't combined
    GET {Range: bytes=0-4 | X-A: 1} -> fetch <- 206 "01234" {Cache-Control: max-age=60 | Content-Range: bytes 0-4/10 | ETag: "a" | Vary: X-A}
    GET {Range: bytes=5-9 | X-A: 2} -> fetch <- 206 "56789" {Cache-Control: max-age=60 | Content-Range: bytes 5-9/10 | ETag: "a" | Vary: X-A}
    GET {Range: bytes=0-9 | X-A: 1} -> fetch
    GET {Range: bytes=0-4 | X-A: 1} -> serve => 206 "01234"
    """#
