// What the samples of all doc comments take for granted. Nothing here runs.
import FoundationEssentials
import SluiceDownloads
import SluiceHTTP

struct Song: Sendable { var url = URL(filePath: "/") }

let url = URL(filePath: "/")
let urls = [url]
let folder = URL(filePath: "/")
let directory = folder
let music = folder
let me = "ann"
let songs = [DownloadRequest(url, to: music)]
let playlist = [Song()]
let transport = ScriptedTransport([:])
let downloads = DownloadCoordinator(transport: transport)

var handle: DownloadHandle { fatalError() }

func render(_ snapshot: QueueSnapshot) {}
func show(_ event: DownloadEvent) {}
