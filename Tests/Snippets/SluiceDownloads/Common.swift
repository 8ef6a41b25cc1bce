// What the samples of all doc comments take for granted. Nothing here runs.
import FoundationEssentials
import SluiceDownloads
import SluiceHTTP

struct Song: Sendable {
    var id = ""
    var url = URL(filePath: "/")
}
let song = Song()
let file = URL(filePath: "/queue.db")
struct Shop: Sendable {
    func url(of id: String, for user: String?) async throws -> URL { URL(filePath: "/") }
    func ticket(for id: String, user: String?) async throws -> (url: URL, token: String) { (URL(filePath: "/"), "") }
}
let shop = Shop()
func play(_ file: URL) {}
func show(_ error: any Error) {}
let summary = DownloadSummary()

let url = URL(filePath: "/")
let urls = [url]
let directory = URL(filePath: "/")
let music = directory
let me = "ann"
let songs = [DownloadRequest(url, to: music)]
let playlist = [Song()]
let transport = ScriptedTransport([:])
let downloads = DownloadCoordinator(transport: transport)

var handle: DownloadHandle { fatalError() }

func render(_ snapshot: QueueSnapshot) {}
nonisolated(unsafe) var saved = QueueEvent.Cursor(rawValue: 0)

func show(_ event: DownloadEvent) {}
func show(_ text: String) {}
func notify(_ user: String?, about job: QueuedDownload.ID) {}

let list = songs
let data = Data()
let requests = songs
let state = directory
nonisolated(unsafe) var configuration = DownloadCoordinator.Configuration()
struct Output: Sendable { func write(_ bytes: Data) async throws {} }
let output = Output()

struct Bar: Sendable { func show(_ fraction: Double) {} }
let bar = Bar()
