// error: sending .* risks causing data races
final class Sketch { var strokes: [String] = [] }

func draw(into queue: AsyncBoundedQueue<Sketch>) async throws {
    let sketch = Sketch()
    try await queue.send(sketch)
    sketch.strokes.append("eye")  // refused
}
