// What the samples of doc comments of DownloadCoordinator take for granted.
import SluiceDownloads
import SluiceHTTP

actor CookieJars { func jar(of user: String?) -> CookieJar { CookieJar() } }
let jars = CookieJars()
