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
let now = HTTPDate(secondsSince1970: 0)

var response: TransportResponse { fatalError() }

func consume(_ chunk: Data) {}
