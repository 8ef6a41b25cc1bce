#if os(Linux)
import Foundation
import SluiceFiles
import Testing

/// The kernel, called as a user without files here: setfsuid(2) holds for one thread, and takes root's capabilities over
/// files with it.
private func callsOfNobody() throws -> SystemCalls {
    typealias SetID = @convention(c) (UInt32) -> CInt
    let symbol = try #require(dlsym(nil, "setfsuid"))
    let setUser = unsafeBitCast(symbol, to: SetID.self)
    @Sendable func asNobody<R>(_ body: () -> R) -> R {
        _ = setUser(65534)
        defer { _ = setUser(0) }
        return body()
    }
    let real = SystemCalls.system
    var calls = real
    calls.open = { path, flags, mode in asNobody { real.open(path, flags, mode) } }
    calls.rename = { from, to in asNobody { real.rename(from, to) } }
    calls.unlink = { path in asNobody { real.unlink(path) } }
    calls.makeDirectory = { path, mode in asNobody { real.makeDirectory(path, mode) } }
    calls.status = { path, following, status in asNobody { real.status(path, following, &status) } }
    return calls
}

@Suite(.enabled(if: getuid() == 0, "needs root to become another user")) struct Permissions {
    @Test func `a forbidden operation is permission denied, by path`() async throws {
        try await withIO(calls: try callsOfNobody()) { io, directory in
            let secret = directory.appending(path: "secret")
            try pattern(5).write(to: secret)
            // The directory has mode 0700 and belongs to root.
            var error = await expectFileError(.permissionDenied) { try await Data(asyncContentsOf: secret, using: io) }
            #expect(error?.subject == secret.path && error?.systemError == EACCES)
            await expectFileError(.permissionDenied) { try await io.status(of: secret) }
            await expectFileError(.permissionDenied) { try await pattern(1).asyncWrite(to: secret, using: io) }

            // Now it may be looked into but not changed.
            #expect(chmod(directory.path, 0o755) == 0 && chmod(secret.path, 0o600) == 0)
            await expectFileError(.permissionDenied) { try await Data(asyncContentsOf: secret, using: io) }
            error = await expectFileError(.permissionDenied) { try await pattern(1).asyncWrite(to: secret, using: io) }
            #expect(error?.remedy != nil)
            await expectFileError(.permissionDenied) { try await io.remove(secret) }
            await expectFileError(.permissionDenied) { try await io.makeDirectory(at: directory.appending(path: "x")) }
            await expectFileError(.permissionDenied) { try await secret.withFileForWriting(using: io) { _ in } }
            #expect(same(contents(of: secret), pattern(5)))
        }
    }
}
#endif
