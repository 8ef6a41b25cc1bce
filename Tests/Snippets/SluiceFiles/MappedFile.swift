// What the samples of doc comments in Sources/SluiceFiles/MappedFile.swift take for granted.
import SluiceFiles

let offset = 4096

var file: MappedFile { fatalError() }
