// What the samples of doc comments in Sources/NativeMark/Localization take for granted.
import NativeMark

let text = "{}"

var catalog: StringCatalog { fatalError() }
