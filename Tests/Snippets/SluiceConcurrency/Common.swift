// What the samples of all doc comments take for granted. Nothing here runs.
import FoundationEssentials
import SluiceConcurrency

struct Image: Sendable { var byteCount = 0 }
struct Page: Sendable {}
struct User { typealias ID = String }
struct Song: Sendable {
    struct ID: Sendable, Hashable {}
    var id = ID()
    var album = ""
}
struct Request: Sendable {
    var rank = 0
    var user: User.ID = ""
}
struct Connection: Sendable {
    struct State: Sendable { var isReady = false }

    let state = CurrentValue(State())
}
enum LoadError: Error { case notFound, loaderGone }
struct StoreError: Error {}
struct TooLate: Error {}

struct Network: Sendable {
    func download(_ url: URL) async throws -> Image { Image() }
    func send(_ request: Request) async throws {}
}
struct Store: Sendable {
    func close() async throws(StoreError) {}
    func song(named name: String) async throws -> Song? { nil }
}
struct Mail: Sendable {
    func send(_ request: Request) async throws {}
    func send(to user: User.ID) async throws {}
}
struct List: Sendable { func show<Element>(_ elements: [Element]) {} }

let network = Network()
let store = Store()
let mail = Mail()
let list = List()

let url = URL(filePath: "/")
let urls = [url]
let names = ["name"]
let host = "example.com"
let user: User.ID = "ann"
let users = [user]
let page = Page()
let image = Image()
let placeholder = Image()
let song = Song()
let id = Song.ID()
let request = Request()
let connection = Connection()
let chunk = [UInt8]()

let clock = ContinuousClock()
let deadline = clock.now

func log(_ message: String) {}
func compute() async -> Int { 0 }
func load() async throws -> Page { page }
func render(_ page: Page) async -> Image { image }
func decode(_ image: Image) async throws -> Image { image }
func showBusy() {}
func serve(_ request: Request) async {}
func download(_ id: Song.ID) async {}
func show<Value>(_ value: Value) {}
func write<Value>(_ value: Value) {}
