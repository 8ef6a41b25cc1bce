// What the samples of doc comments in Sources/SluiceConcurrency/Waiting/Promise.swift take for granted.
import SluiceConcurrency

let (promise, resolver) = Promise<Image, any Error>.makePromise()
let result = Result<Image, any Error>.success(image)
