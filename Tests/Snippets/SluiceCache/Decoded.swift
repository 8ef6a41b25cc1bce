// What the samples of the decoded caches take for granted. Nothing here runs.
import FoundationEssentials
import SluiceCache
import SluiceFiles

struct Asset { var identifier = "" }
struct Library: Sendable { func data(of asset: Asset) async throws -> Data { Data() } }

let asset = Asset()
let library = Library()

struct ImageView { var image: PlatformImage? }

nonisolated(unsafe) var imageView = ImageView()
