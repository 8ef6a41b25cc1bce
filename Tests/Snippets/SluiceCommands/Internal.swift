// What the samples in doc comments of declarations that are not public take for granted.
import NativeMark
@testable import SluiceCommands

let url = "https://example.com/song.mp3"
let data: [UInt8] = []
let environment: [String: String] = [:]
let renderer = TerminalRenderer(width: 80, color: .full)
let size = Console.Size(columns: 80, rows: 24)

var console: Console { fatalError() }
var loadedImage: TerminalRenderer.Image { fatalError() }

var interruption: Interruption { fatalError() }

func work() async -> Int { 0 }
func write(_ text: String) {}
