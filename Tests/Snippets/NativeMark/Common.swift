// What the samples of all doc comments take for granted. Nothing here runs.
import FoundationEssentials
import NativeMark

let name = "Ada"
let document = Document("Hello *world*")
let sheet = StyleSheet.default
