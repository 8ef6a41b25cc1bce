// What the samples of doc comments in Sources/SluiceConcurrency/Queues/AsyncQueue.swift take for granted.
import SluiceConcurrency

let queue = AsyncQueue<Song.ID>()
let songs = AsyncQueue<Song>()
let album = "album"

func start(_ id: Song.ID) {}
