// What the samples of doc comments in Sources/SluiceConcurrency/Streams/Latest.swift take for granted: as much of SwiftUI as they name.
import SluiceConcurrency

struct Progress: Sendable, CustomStringConvertible { var description: String { "" } }
struct Transfer: Sendable { var changes: AsyncStream<Progress> { AsyncStream { $0.finish() } } }

@MainActor protocol View {
    associatedtype Body
    @MainActor var body: Body { get }
}
@propertyWrapper struct State<Value> {
    var wrappedValue: Value
}
struct Text: View {
    var body: Never { fatalError() }

    init(_ text: String) {}
    func task(_ action: @escaping @MainActor @Sendable () async -> Void) -> some View { self }
}
extension Never: View {
    var body: Never { fatalError() }
}

let transfer = Transfer()
@MainActor let progress = Latest(Progress())
