// What the samples of doc comments in Sources/SluiceConcurrency/Queue take for granted.
import SluiceConcurrency

let queue = AsyncQueue<Song.ID>()
let songs = AsyncQueue<Song>()
let pages = AsyncBoundedQueue<Page>(capacity: 4)
let album = "album"

func start(_ id: Song.ID) {}
