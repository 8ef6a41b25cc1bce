// Code from a UIKit app.
import NativeMark
import UIKit

@MainActor func environment(of view: UIView) -> StyleSheet.Environment { .init(view.traitCollection) }

@MainActor func view(of document: Document) -> UIView { NativeMarkLabel(document) }

func brand(_ color: UIColor) -> StyleSheet.Color { .init(color) }
