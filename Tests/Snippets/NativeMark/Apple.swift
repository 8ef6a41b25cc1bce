// What the samples take for granted that need Apple's frameworks, here the stubs of these.
import AppleFoundation
import NativeMark
import SwiftUI

struct Loader: Sendable { func image(at source: String) async -> CGImage? { nil } }
struct Stack: Sendable { @MainActor func addArrangedSubview(_ label: NativeMarkLabel) {} }

@MainActor final class Router { func open(_ url: URL) {} }

@MainActor let router = Router()
let loader = Loader()
let stack = Stack()
let text = StyledText(document)

var path: StyledText.Path { fatalError() }
@MainActor var settings: some View { NativeMarkText(document) }
