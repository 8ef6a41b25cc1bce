import NativeMark
import SwiftUI

/// The third screen: Markdown in the style of the app.
struct GuideView: View {
    // Parsed once.
    private static let guide = Document(
        """
        # Your *Gallery*

        Add the address of a file, and it is downloaded **even if the app is interrupted**: the queue continues where it stopped.

        1. A tap on *pause* keeps what has arrived.
        2. A tap on *resume* continues with the next byte.

        > Four files are downloaded at a time, two from each host.

        | Button | Effect |
        |:--|:--|
        | `+` | Adds a download |
        | `x` | Cancels it |

        The [documentation](https://example.com/gallery) has more.
        """)

    private static let style = StyleSheet.default
        .setting(inline: [.emphasis: [.color(.accent)]])
        .setting(block: [.heading(level: 1): [.textStyle(.largeTitle), .spacingAfter(.em(0.5))]])
        .setting(colors: [.accent: .init(light: .rgb(0xB0305C), dark: .rgb(0xFF8FB1))])

    var body: some View {
        ScrollView {
            NativeMarkText(Self.guide)
                .nativeMarkStyle(Self.style)
                .padding()
        }
        .navigationTitle("Guide")
    }
}
