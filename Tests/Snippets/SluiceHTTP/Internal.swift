// What the samples in doc comments of declarations that are not public take for granted.
@testable import SluiceHTTP

let (before, after) = (now, now)
nonisolated(unsafe) var request = TransportRequest(url)
