// What the samples of doc comments take for granted. Nothing here runs.
import Foundation
import HTTPTypes
import Logging
import ServiceLifecycle
import SluiceDownloads
import SluiceService

let logger = Logger(label: "songs")
let downloads = DownloadCoordinator()
let token = ""
let head = HTTPRequest(method: .get, scheme: "https", authority: "example.com", path: "/queue/")
let body = Data()
