// What the samples of all doc comments take for granted. Nothing here runs.
import FoundationEssentials
import HTTPTypes
import SluiceHTTP

struct Output: Sendable { func write(_ chunk: Data) async throws {} }

let url = URL(filePath: "/")
let bytes = Data()
let output = Output()
let transport = ScriptedTransport([:])
let policy = RetryPolicy()
let status = HTTPResponse.Status.ok
nonisolated(unsafe) var request = TransportRequest(url)
let text = ""
let placeholder = Data()

var response: TransportResponse { fatalError() }

struct Cache: Sendable { func data(for url: URL) async throws -> Data { Data() } }

let cache = Cache()
nonisolated(unsafe) var cover = Data()

func show(_ text: String) {}
func consume(_ chunk: Data) {}
