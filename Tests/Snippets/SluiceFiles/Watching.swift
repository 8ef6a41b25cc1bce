// What the samples of doc comments in Sources/SluiceFiles/Watching take for granted.
import SluiceFiles

let inbox = folder

func process(_ name: FileName) async throws {}
func processAll() async throws {}
