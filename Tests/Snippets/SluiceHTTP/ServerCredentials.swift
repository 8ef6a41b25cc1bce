// What the samples of doc comments of ServerCredentials take for granted.
import FoundationEssentials
import SluiceHTTP

let (password, file) = ("", URL(filePath: "/"))
nonisolated(unsafe) var configuration = HTTPTransport.Configuration()
