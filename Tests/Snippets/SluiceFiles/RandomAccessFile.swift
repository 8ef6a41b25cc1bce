// What the samples of doc comments in Sources/SluiceFiles/RandomAccessFile.swift take for granted.
import FoundationEssentials
import SluiceFiles

let page = Data()
let block = Data()
let size: Int64 = 4096
let done: Int64 = 4096
let record: Range<Int64> = 0..<4096
let wanted: [Int64] = [0, 7]

var file: RandomAccessFile { fatalError() }
