// What the samples of all doc comments take for granted. Nothing here runs.
import FoundationEssentials
import HTTPTypes
import SluiceCache
import SluiceHTTP

struct Image: Sendable { var byteCount = 0 }

struct Thumbnail: Sendable {
    var byteCount = 0
    init(_ data: Data) throws {}
}

let url = URL(filePath: "/")
let urls = [url]
let directory = URL(filePath: "/")
let image = Image()
let rendered = Data()
let data = Data()
let token = ""

var cache: ResourceCache { fatalError() }
var images: DecodedCache<PlatformImage> { fatalError() }
let player = Player()

struct Player { func play(_ chunk: Data) async throws {} }

func show(_ image: Data) {}
func show(_ state: ResourceState<PlatformImage>) {}
