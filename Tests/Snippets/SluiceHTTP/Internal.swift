// What the samples in doc comments of declarations that are not public take for granted.
@testable import SluiceHTTP

let now = HTTPDate(secondsSince1970: 0)
let (before, after) = (now, now)
