// error: sending .* risks causing data races
final class Sketch { var strokes: [String] = [] }

func draw(into queue: AsyncQueue<Sketch>) {
    let sketch = Sketch()
    queue.enqueue(sketch)
    sketch.strokes.append("eye")  // refused
}
