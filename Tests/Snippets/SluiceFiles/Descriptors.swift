// What the samples of doc comments in Sources/SluiceFiles/Descriptors.swift take for granted.
import Foundation

let page = Data()
