// What the samples of all doc comments take for granted. Nothing here runs.
import FoundationEssentials
import SluiceFiles

struct Bar: Sendable { func show(_ fraction: Double) {} }

let files = FileIO.shared
let url = URL(filePath: "/music/song.mp3")
let other = url
let film = url
let part = url
let copy = url
let directory = URL(filePath: "/music")
let music = directory
let backup = directory
let data = Data()
let bar = Bar()
