// What the samples about edits take for granted.
import NativeMark

let range = 0..<1
let text = "x"

func style(_ range: Range<Int>, as kind: Document.Kind) {}
