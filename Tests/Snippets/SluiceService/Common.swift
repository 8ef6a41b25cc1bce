// What the samples of doc comments take for granted. Nothing here runs.
import Logging
import ServiceLifecycle
import SluiceDownloads
import SluiceService

let logger = Logger(label: "songs")
let downloads = DownloadCoordinator()
