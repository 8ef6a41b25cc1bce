// What the samples of doc comments in Sources/NativeMark/Document take for granted.
import NativeMark

func open(_ node: Document.Node) {}
func close(_ node: Document.Node) {}
func load(_ source: String) {}
