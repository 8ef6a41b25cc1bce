// What the samples of doc comments in Sources/SluiceFiles/Handles take for granted.
import Foundation

let page = Data()
