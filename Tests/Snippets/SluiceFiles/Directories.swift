// What the samples of doc comments in Sources/SluiceFiles/Directories take for granted.
import FoundationEssentials
import SluiceFiles

let project = directory
let spool = directory

var entry: DirectoryEntry { fatalError() }

func process(_ entry: DirectoryEntry) async throws {}
