// What the samples of doc comments in Sources/SluiceFiles/RandomAccess take for granted.
import FoundationEssentials
import SluiceFiles

let page = Data()
let block = Data()
let size = 4096
let done = 4096
let record = 0..<4096
let wanted = [0, 7]

var file: RandomAccessFile { fatalError() }
