// What the samples of doc comments in Sources/SluiceConcurrency/Queues/AsyncBoundedQueue.swift take for granted.
import SluiceConcurrency

struct Thumbnail: Sendable { var url = "" }
extension Page { var isHidden: Bool { false } }
struct Busy: Error {}
/// Not Sendable.
final class Frame {}
struct Frames: Sendable { func giveBack(_ frame: Frame) {} }

let pages = AsyncBoundedQueue<Page>(capacity: 4)
let frames = AsyncBoundedQueue<Frame>(capacity: 4, overflow: .dropOldest)
var frame: Frame { Frame() }
let pool = Frames()
