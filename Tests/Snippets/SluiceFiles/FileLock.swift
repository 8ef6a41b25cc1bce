// What the samples of doc comments in Sources/SluiceFiles/FileLock.swift take for granted.
import SluiceFiles

struct Index: Sendable {}

let index = Index()
let lock = url

func rebuild(_ index: Index) async throws {}
func load(_ index: Index) async throws -> [String] { [] }
