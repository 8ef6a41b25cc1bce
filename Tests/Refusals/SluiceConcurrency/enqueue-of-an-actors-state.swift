// error: sending .* risks causing data races
final class Sketch { var strokes: [String] = [] }

actor Easel {
    let sketch = Sketch()

    func share(with queue: AsyncQueue<Sketch>) {
        queue.enqueue(sketch)  // refused
        // instead: queue.enqueue(Sketch())
    }
}
