// What the samples of doc comments in Sources/NativeMark/Styles take for granted.
import NativeMark

let text = "{}"
