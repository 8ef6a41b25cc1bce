// What the samples of doc comments in Sources/NativeMark/Terminal take for granted.
import Foundation

let environment = ProcessInfo.processInfo.environment
let untrusted = "song.mp3"
