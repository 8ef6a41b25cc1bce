// What the samples of doc comments in Sources/SluiceFiles/FileChanges.swift take for granted.
import SluiceFiles

let inbox = directory

func process(_ name: DirectoryEntry.Name) async throws {}
func processAll() async throws {}
