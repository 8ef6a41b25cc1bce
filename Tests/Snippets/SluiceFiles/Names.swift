// What the samples of doc comments in Sources/SluiceFiles/Names/ take for granted.
import SluiceFiles

let song = url
let cache = directory
