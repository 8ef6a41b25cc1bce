// What the samples of doc comments in Sources/SluiceCommands/Show take for granted.
import NativeMark

let text = StyledText(Document(""))
