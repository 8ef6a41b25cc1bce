// What the samples of doc comments in Sources/SluiceConcurrency/Work/AsyncLazy.swift take for granted.
import FoundationEssentials
import SluiceConcurrency

struct Database: Sendable {
    static func open(_ url: URL) async throws -> Database { Database() }
    func songs() async throws -> [Song] { [] }
    func close() {}
}

let database = AsyncLazy { try await Database.open(url) }
