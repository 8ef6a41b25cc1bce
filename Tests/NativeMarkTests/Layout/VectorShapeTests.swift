import Testing

@testable import NativeMark

@Suite struct `VectorShape: paths` {
    private let box = LayoutRectangle(x: 0, y: 0, width: 20, height: 10)

    private func border(
        _ pattern: StyleSheet.Border.Pattern = .solid, edges: Set<StyleSheet.Edge> = Set(StyleSheet.Edge.allCases),
        radius: Double = 0
    ) -> ResolvedBlockStyle.Border {
        .init(edges: edges, width: 2, color: .rgb(0xFF0000), pattern: pattern, cornerRadius: radius)
    }

    private func path(_ shape: VectorShape) -> String {
        func point(_ point: LayoutPoint) -> String { "\(point.x),\(point.y)" }
        return shape.path.map { element in
            switch element {
            case .move(let to): "M" + point(to)
            case .line(let to): "L" + point(to)
            case .curve(_, _, let to): "C" + point(to)
            case .close: "Z"
            }
        }.joined(separator: " ")
    }

    @Test func `a border is a line in the middle of its width`() {
        let shapes = DrawingCommand.stroke(box, border()).shapes
        #expect(shapes.map(path) == ["M1.0,1.0 L19.0,1.0 L19.0,9.0 L1.0,9.0 Z"])
        #expect(shapes.map(\.paint) == [.stroke(width: 2)])
    }

    @Test func `some edges are straight lines from side to side`() {
        let shapes = DrawingCommand.stroke(box, border(edges: [.leading, .bottom])).shapes
        #expect(shapes.map(path) == ["M0.0,9.0 L20.0,9.0", "M1.0,0.0 L1.0,10.0"])
    }

    @Test func `a box that continues has no line and square corners at the break`() {
        let opening = DrawingCommand.stroke(box, border(), corners: .leading).shapes
        #expect(opening.map(path) == ["M0.0,1.0 L20.0,1.0", "M0.0,9.0 L20.0,9.0", "M1.0,0.0 L1.0,10.0"])
        let fill = DrawingCommand.fill(box, radius: 4, corners: .trailing, .rgb(0)).shapes
        #expect(
            fill.map(path) == [
                "M0.0,0.0 L16.0,0.0 C20.0,4.0 L20.0,6.0 C16.0,10.0 L0.0,10.0 C0.0,10.0 L0.0,0.0 C0.0,0.0 Z"
            ])
    }

    @Test func `a pattern has dashes, dots or two lines`() {
        func paints(_ pattern: StyleSheet.Border.Pattern) -> [VectorShape.Paint] {
            DrawingCommand.stroke(box, border(pattern)).shapes.map(\.paint)
        }
        #expect(paints(.dashed) == [.stroke(width: 2, dashes: [6, 4])])
        #expect(paints(.dotted) == [.stroke(width: 2, dashes: [0, 4], isRound: true)])
        #expect(paints(.double) == [.stroke(width: 2.0 / 3), .stroke(width: 2.0 / 3)])
    }

    @Test func `corners are at most half of a side`() {
        let shapes = DrawingCommand.fill(box, radius: 1_000, .rgb(0)).shapes
        #expect(path(shapes[0]).hasPrefix("M5.0,0.0 L15.0,0.0 C20.0,5.0"))
    }

    @Test func `a checked box has a mark inside`() {
        #expect(DrawingCommand.checkbox(box, isChecked: false, .rgb(0)).shapes.count == 1)
        #expect(DrawingCommand.checkbox(box, isChecked: true, .rgb(0)).shapes.count == 2)
    }

    @Test(arguments: [
        (StyleSheet.TextLine.Pattern.single, 1), (.thick, 1), (.double, 2), (.dotted, 1), (.dashed, 1), (.wavy, 1),
    ])
    func `a line under text has its pattern and color`(_ pattern: StyleSheet.TextLine.Pattern, _ count: Int) {
        var style = ResolvedTextStyle(fontSize: 16)
        style.underline = .init(pattern: pattern, color: .rgb(0xFF))
        let shapes = style.decorations(from: .init(x: 3, y: 20), width: 50)
        #expect(shapes.count == count)
        #expect(shapes.allSatisfy { $0.color == .rgb(0xFF) })
        for case .move(let start) in shapes.flatMap(\.path) {
            #expect(start.x == 3 && abs(start.y - 22.24) < 1.5)
        }
    }

    @Test func `a line under superscript is under the superscript`() {
        var style = ResolvedTextStyle(fontSize: 16)
        style.underline = .init()
        let low = style.decorations(from: .init(x: 0, y: 20), width: 5)
        style.baseline = 6
        let high = style.decorations(from: .init(x: 0, y: 20), width: 5)
        guard case .move(let first)? = low.first?.path.first, case .move(let second)? = high.first?.path.first else {
            Issue.record("no line")
            return
        }
        #expect(first.y - second.y == 6)
    }

    @Test func `a wave across a very long line has a bounded number of curves`() {
        var style = ResolvedTextStyle(fontSize: 1)
        style.underline = .init(pattern: .wavy)
        let shapes = style.decorations(from: .init(x: 0, y: 0), width: 1e6)
        #expect(shapes[0].path.count < 2_100)
    }
}
