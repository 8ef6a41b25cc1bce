public import Foundation

/// The program of this name that was built with these tests: it is beside them.
///
/// - Throws: An error that says how to build it. A test that skips without its program would never fail.
public func builtProgram(_ name: String) throws -> URL {
    let directory = URL(filePath: ProcessInfo.processInfo.arguments[0]).deletingLastPathComponent()
    let program = directory.appending(path: name)
    guard FileManager.default.isExecutableFile(atPath: program.path) else { throw MissingProgram(path: program.path) }
    return program
}

/// A program that the tests need was not built.
public struct MissingProgram: Error, CustomStringConvertible {
    let path: String

    /// One line.
    public var description: String { "\(path) is missing; run `swift build --build-tests`" }
}
