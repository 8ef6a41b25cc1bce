// What the samples of doc comments in Sources/NativeMark/Layout take for granted.
@testable import NativeMark

let text = StyledText(Document("a"))
var engine: any TextEngine { fatalError() }
func draw(_ command: DrawingCommand) {}
