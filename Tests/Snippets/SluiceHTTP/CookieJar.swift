// What the samples of doc comments of CookieJar take for granted.
import FoundationEssentials
import SluiceFiles

let file = URL(filePath: "/")
