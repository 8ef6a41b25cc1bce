#if Cairo
import NativeMarkCairo

/// Debian's DejaVu fonts (fonts-dejavu-core), so that the tests don't depend on the other fonts of a machine.
enum Fonts {
    static let directory = "/usr/share/fonts/truetype/dejavu"

    static func engine() throws -> PangoEngine {
        try PangoEngine(
            fonts: .init(
                default: "DejaVu Sans", serif: "DejaVu Serif", monospaced: "DejaVu Sans Mono", files: [directory]))
    }
}
#endif
