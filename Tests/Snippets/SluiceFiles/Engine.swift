// What the samples of doc comments in Sources/SluiceFiles/Engine take for granted.
import FoundationEssentials

struct Playlist: Sendable { var position = Data() }

let list = Playlist()

func play(_ list: Playlist) async throws {}
