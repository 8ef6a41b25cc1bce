// What the samples in doc comments of declarations that are not public take for granted.
import FoundationEssentials
import Glibc
@testable import SluiceFiles

let io = files
let places = CheckpointedFile.Places(file: url, checkpoint: other, temporary: part)
let checkpoint = Data()
let chunks = [Data()]
let rest = chunks
let chunk = Data()
let system = SystemInterface(calls: .system)
let lane = ReadinessLane(system, stackSize: 0, StatisticsChanges())
let descriptor: CInt = 0
let socket: CInt = 0
let path = ""
let size: Int64 = 0
let written = 0
let progress: ProgressCounter.Report? = nil
let counter = ProgressCounter(progress)
nonisolated(unsafe) var splitter = LineSplitter(endings: .newline, limit: 80)

var source: RawFile { fatalError() }
var temporary: RawFile { fatalError() }
var cancellation: Cancellation { fatalError() }
var file: AsyncFileStream<ReadMode> { fatalError() }

func body(_ file: borrowing AsyncFileStream<ReadMode>) async throws {}
func checkpoint(of size: Int64) -> Data? { nil }
