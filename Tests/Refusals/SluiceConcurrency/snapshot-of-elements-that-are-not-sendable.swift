// error: 'Sketch' does not conform to the 'Sendable' protocol
final class Sketch { var strokes: [String] = [] }

func look(at queue: AsyncQueue<Sketch>) -> Int {
    let sketches = queue.snapshot  // refused
    // instead: let sketches = queue.removeAll()
    return sketches.count
}
