// What the samples of doc comments in Sources/SluiceFiles/TemporaryFiles.swift take for granted.
import FoundationEssentials

func convert(_ file: URL) async throws -> Data { data }
