#if Cairo
/// The paper, the margins and the size of the text of a printed document. Lengths are points of 1/72 inch.
///
///     let setup = PageSetup(paper: .letter.landscape, margin: 36)
public struct PageSetup: Sendable, Hashable {
    /// The size of a page.
    public var paper: Paper
    /// The empty space at each edge of a page. A page's number is in the lower one.
    public var margin: Double
    /// The size of the text on paper as a fraction of its size on a screen. A body text of 17 points has 11 points with the default, 0.65.
    public var scale: Double
    /// Whether pages have their number at the bottom.
    public var hasPageNumbers: Bool

    /// Creates a page setup.
    public init(paper: Paper = .a4, margin: Double = 62, scale: Double = 0.65, hasPageNumbers: Bool = true) {
        self.paper = paper
        self.margin = margin
        self.scale = scale
        self.hasPageNumbers = hasPageNumbers
    }

    /// Reads a length, such as `20mm`, `2cm`, `0.75in`, `54pt` or `54`. Returns points, or `nil` for other text and negative lengths.
    public static func points(_ text: some StringProtocol) -> Double? {
        let units = ["mm": 72 / 25.4, "cm": 720 / 25.4, "in": 72.0, "pt": 1.0]
        let unit = text.suffix(2)
        let points = units[String(unit)]
        return Double(points == nil ? text[...] : text.dropLast(2)).flatMap {
            $0 >= 0 && $0.isFinite ? $0 * (points ?? 1) : nil
        }
    }

    /// The size of a sheet.
    public struct Paper: Sendable, Hashable {
        /// The width in points.
        public var width: Double
        /// The height in points.
        public var height: Double

        /// Creates a size in points.
        public init(width: Double, height: Double) {
            self.width = width
            self.height = height
        }

        private init(millimeters width: Double, _ height: Double) {
            self.init(width: width * 72 / 25.4, height: height * 72 / 25.4)
        }

        /// A3 of ISO 216: 297 × 420 mm.
        public static let a3 = Self(millimeters: 297, 420)
        /// A4 of ISO 216: 210 × 297 mm.
        public static let a4 = Self(millimeters: 210, 297)
        /// A5 of ISO 216: 148 × 210 mm.
        public static let a5 = Self(millimeters: 148, 210)
        /// US Letter: 8.5 × 11 inches.
        public static let letter = Self(width: 612, height: 792)
        /// US Legal: 8.5 × 14 inches.
        public static let legal = Self(width: 612, height: 1_008)

        /// The sheet turned by 90 degrees.
        public var landscape: Self { Self(width: height, height: width) }

        /// Reads a name, or a width and a height with a unit.
        ///
        ///     let postcard = PageSetup.Paper("148x105mm")
        ///     let book = PageSetup.Paper("6x9in")
        ///     let letter = PageSetup.Paper("612x792")      // points without a unit
        ///
        /// The result is `nil` for other text, and for a side of less than 72 points or more than 14,400 points, PDF's limit (ISO 32000,
        /// annex C).
        public init?(_ text: String) {
            switch text.lowercased() {
            case "a3": self = .a3
            case "a4": self = .a4
            case "a5": self = .a5
            case "letter": self = .letter
            case "legal": self = .legal
            case let size:
                let unit = size.drop { $0.isNumber || $0 == "." || $0 == "x" }
                let sides = size.dropLast(unit.count).split(separator: "x", omittingEmptySubsequences: false).map {
                    PageSetup.points($0 + unit)
                }
                guard sides.count == 2, let width = sides[0], let height = sides[1],
                    (72...14_400).contains(width), (72...14_400).contains(height)
                else { return nil }
                self.init(width: width, height: height)
            }
        }
    }
}
#endif
