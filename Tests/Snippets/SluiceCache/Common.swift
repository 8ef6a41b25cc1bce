// What the samples of all doc comments take for granted. Nothing here runs.
import FoundationEssentials
import HTTPTypes
import SluiceCache

struct Image: Sendable { var byteCount = 0 }

let url = URL(filePath: "/")
let directory = URL(filePath: "/")
let image = Image()
let rendered = Data()
let token = ""

var cache: ResourceCache { fatalError() }

func show(_ image: Data) {}
