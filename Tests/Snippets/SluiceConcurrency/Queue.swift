// What the samples of doc comments in Sources/SluiceConcurrency/Queue take for granted.
import SluiceConcurrency

struct Thumbnail: Sendable { var url = "" }
struct Frame: Sendable {}
struct Frames: Sendable { func giveBack(_ frame: Frame) {} }

let queue = AsyncQueue<Song.ID>()
let songs = AsyncQueue<Song>()
let pages = AsyncQueue<Page>(capacity: 4, overflow: .suspend)
let frames = AsyncQueue<Frame>(capacity: 4, overflow: .dropOldest)
let frame = Frame()
let pool = Frames()
let album = "album"

func start(_ id: Song.ID) {}
