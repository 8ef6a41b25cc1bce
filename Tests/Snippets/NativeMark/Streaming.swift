// What the samples of doc comments in Sources/NativeMark/Streaming take for granted.
import NativeMark

let answer = AsyncStream<String> { $0.finish() }

func show(_ block: DocumentStream.Block) {}
