// What the samples of doc comments in Sources/SluiceConcurrency/Promise take for granted.
import SluiceConcurrency

let (promise, resolver) = Promise<Picture, any Error>.makePromise()
let result = Result<Picture, any Error>.success(picture)
