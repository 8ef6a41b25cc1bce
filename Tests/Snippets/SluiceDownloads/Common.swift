// What the samples of all doc comments take for granted. Nothing here runs.
import FoundationEssentials
import SluiceDownloads
import SluiceHTTP

struct Song: Sendable { var url = URL(filePath: "/") }

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
