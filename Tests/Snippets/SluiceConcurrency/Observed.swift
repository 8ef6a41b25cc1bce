// What the samples of doc comments in Sources/SluiceConcurrency/Streams/Observed.swift take for granted.
import Observation
import SluiceConcurrency

struct Titled: Sendable { let title = "" }
final class Playlist: Observable, Sendable { let songs = [Song]() }
final class Player: Observable, Sendable { let song: Titled? = nil }
struct Label: Sendable {
    var text: String {
        get { "" }
        nonmutating set {}
    }
    var title: String {
        get { "" }
        nonmutating set {}
    }
}

let playlist = Playlist()
let player = Player()
let badge = Label()
let window = Label()
