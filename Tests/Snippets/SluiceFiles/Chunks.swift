// What the samples of doc comments in Sources/SluiceFiles/Chunks take for granted.
import FoundationEssentials

struct Digest: Sendable { func update(_ data: Data) {} }

nonisolated(unsafe) var count = 0
let digest = Digest()
