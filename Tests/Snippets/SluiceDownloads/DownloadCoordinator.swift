// What the samples of doc comments of DownloadCoordinator take for granted.
import SluiceDownloads
import SluiceHTTP

nonisolated(unsafe) var configuration = DownloadCoordinator.Configuration()
actor CookieJars { func jar(of user: String?) -> CookieJar { CookieJar() } }
let jars = CookieJars()
