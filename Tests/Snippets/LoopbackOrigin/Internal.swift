// What the samples in doc comments of declarations that are not public take for granted.
@testable import LoopbackOrigin

let song: [UInt8] = []

var origin: LoopbackOrigin { fatalError() }

func fetch(_ url: String) async throws {}
