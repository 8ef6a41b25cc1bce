// Code from an AppKit app.
import AppKit
import NativeMark

@MainActor func environment(of view: NSView) -> StyleSheet.Environment { .init(view.effectiveAppearance) }

@MainActor func textView(of document: Document) -> NSTextView { NativeMarkLabel(document).textView }

func brand(_ color: NSColor) -> StyleSheet.Color { .init(color) }
