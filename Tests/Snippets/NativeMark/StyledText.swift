// What the samples of doc comments in Sources/NativeMark/StyledText take for granted.
import FoundationEssentials
import NativeMark

let text = StyledText(document)
let link = StyledText.Link(destination: "settings:audio", title: nil)

func keywords(in code: String) -> [Range<Int>] { [] }
