// What the samples of doc comments in Sources/SluiceFiles/Metadata take for granted.
import FoundationEssentials
import SluiceFiles

let song = url
let digest = Data()
let newName = url
let secrets = url
let page = url
let settings = url
let original = url
let (a, b) = (url, other)

var status: FileStatus { fatalError() }
