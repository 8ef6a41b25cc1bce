// What the samples of doc comments of CookieJar take for granted.
import FoundationEssentials

let file = URL(filePath: "/")
