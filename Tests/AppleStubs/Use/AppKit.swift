// Code from an AppKit app.
import AppKit
import NativeMark

@MainActor func environment(of view: NSView) -> StyleSheet.Environment { .init(view.effectiveAppearance) }

@MainActor func view(of document: Document) -> NSView { NativeMarkLabel(document) }

func brand(_ color: NSColor) -> StyleSheet.Color { .init(color) }
