// For the samples of the layout. Nothing here runs.
import NativeMark

let text = StyledText(document)
let engine: any TextEngine = { fatalError() }()
let range = 0..<1
func draw(_ command: DrawingCommand) {}
func draw(_ shape: VectorShape) {}
