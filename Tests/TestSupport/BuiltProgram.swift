public import Foundation

/// Returns the path of a program that was built with these tests, from their directory.
///
/// - Throws: An error with the command that builds it. A test that is skipped without its program would never fail.
public func builtProgram(_ name: String) throws -> URL {
    let directory = URL(filePath: ProcessInfo.processInfo.arguments[0]).deletingLastPathComponent()
    let program = directory.appending(path: name)
    guard FileManager.default.isExecutableFile(atPath: program.path) else { throw MissingProgram(path: program.path) }
    return program
}

/// A program that the tests need was not built.
public struct MissingProgram: Error, CustomStringConvertible {
    let path: String

    /// The text of the error.
    public var description: String { "\(path) is missing; run `swift build --build-tests`" }
}
