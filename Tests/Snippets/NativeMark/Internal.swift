// What the samples in doc comments of declarations that are not public take for granted.
import FoundationEssentials
@testable import NativeMark

nonisolated(unsafe) var images: [Int: Data] = [:]

func fetch(_ source: String) async throws -> Data { Data() }
