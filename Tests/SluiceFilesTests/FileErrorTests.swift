import Foundation
import SluiceConcurrency
@testable import SluiceFiles
import Testing

/// The meaning of each error number that file calls return, from the man pages. Other numbers have no particular meaning.
private let meanings: [(code: FileError.Code, numbers: [CInt])] = [
    (.notFound, [ENOENT]), (.exists, [EEXIST]), (.isDirectory, [EISDIR]), (.notDirectory, [ENOTDIR]),
    (.notEmpty, [ENOTEMPTY]), (.nameTooLong, [ENAMETOOLONG]), (.tooManyLinks, [ELOOP]), (.invalidPath, [EILSEQ]),
    (.differentFileSystems, [EXDEV]), (.notRegularFile, [ENXIO, ENODEV, ESPIPE, ENOTBLK]), (.noAttribute, [ENODATA]),
    (.permissionDenied, [EACCES, EPERM]), (.readOnly, [EROFS]), (.locked, [EWOULDBLOCK, EDEADLK]),
    (.busy, [ETXTBSY, EBUSY]), (.noSpace, [ENOSPC]), (.quotaExceeded, [EDQUOT]), (.tooManyOpenFiles, [EMFILE, ENFILE]),
    (.exhausted, [EMLINK, ENOMEM, ENOBUFS, ENOLCK]), (.fileTooLarge, [EFBIG, EOVERFLOW, E2BIG]),
    (
        .inputOutput,
        [
            EIO, ESTALE, ETIMEDOUT, ENOTCONN, ECONNABORTED, ECONNREFUSED, ECONNRESET, EHOSTDOWN, EHOSTUNREACH,
            ENETUNREACH, ENETDOWN, ENOLINK, EBADMSG,
        ]
    ),
    (.brokenPipe, [EPIPE]), (.unsupported, [EOPNOTSUPP, ENOTSUP, ENOSYS, ENOTTY]),
    (.invalidArgument, [EINVAL, ERANGE, EDOM, EDESTADDRREQ, EBADF, EFAULT]),
]

#if os(Linux)
private let meaningsHere: [(code: FileError.Code, numbers: [CInt])] = [
    (.inputOutput, [EUCLEAN, EREMOTEIO, EHWPOISON, ENOMEDIUM, EMEDIUMTYPE]),
    (.permissionDenied, [ENOKEY, EKEYEXPIRED, EKEYREVOKED, EKEYREJECTED]),
]
#else
private let meaningsHere: [(code: FileError.Code, numbers: [CInt])] = []
#endif

struct `File errors` {
    @Test func `a code is described by its name`() {
        #expect("\(FileError.Code.notFound)" == "notFound" && "\(FileError.Code.limitExceeded)" == "limitExceeded")
        let error = FileError(code: .limitExceeded, operation: "read", path: "/a")
        #expect(error.message == "Couldn't read '/a': it exceeds the limit.")
    }

    @Test func `the errors of SluiceConcurrency have their description in an alert`() {
        let errors: [any Error & CustomStringConvertible] = [
            DeadlineExceeded(), WeightExceedsLimit(weight: 2, maximumWeight: 1), QueueFinished(), PromiseAbandoned(),
            BroadcastError<Never>.missed(2),
        ]
        for error in errors { #expect(error.localizedDescription == error.description) }
    }

    /// Every number that the C library has a text for.
    static let numbers: [CInt] = (1..<256).filter { !String(cString: strerror($0)).hasPrefix("Unknown error") }

    static let codes: [CInt: FileError.Code] = (meanings + meaningsHere).reduce(into: [:]) { codes, meaning in
        for number in meaning.numbers { codes[number] = meaning.code }
    }

    /// Errors of the program and not of its user's file, or errors whose text says everything.
    static let withoutRemedy: Set<CInt> = [EPIPE, EINVAL, ERANGE, EDOM, EFAULT]

    @Test(arguments: numbers)
    func `every error number of this system has a text, and a code only if file calls return it`(number: CInt) {
        let error = FileError(operation: "open", path: "/music/a", systemError: number)
        #expect(error.code == Self.codes[number] ?? .other)
        let text = String(cString: strerror(number))
        #expect(error.description.hasPrefix("Couldn't open '/music/a': \(text) ("), "\(error)")
        #expect(!error.description.contains("\n"))
        if error.code == .other {
            #expect(number == EINTR || error.remedy == nil, "advice about an unknown error")
            return
        }
        #expect(!error.description.contains("(errno"), "has no name")
        #expect((error.remedy == nil) == Self.withoutRemedy.contains(number))
        if let remedy = error.remedy {
            #expect(remedy.hasSuffix(".") && remedy.first?.isUppercase == true && !remedy.contains("\n"), "\(remedy)")
        }
    }

    #if canImport(Glibc)
    @Test func `error names match those of the system`() throws {
        typealias NameOf = @convention(c) (CInt) -> UnsafePointer<CChar>?
        // glibc 2.32
        guard let symbol = dlsym(nil, "strerrorname_np") else { return }
        let name = unsafeBitCast(symbol, to: NameOf.self)
        for number in Self.numbers where Self.codes[number] != nil {
            let wanted = String(cString: try #require(name(number)))
            let alias = [EWOULDBLOCK: "EWOULDBLOCK", EOPNOTSUPP: "EOPNOTSUPP"][number]
            #expect(FileError(operation: "", path: "", systemError: number).name == alias ?? wanted)
        }
    }
    #endif

    @Test(arguments: Call.allCases)
    func `every documented error has a code and, with few exceptions, a remedy`(call: Call) {
        for number in call.documentedErrors where number != EINTR {
            let error = FileError(operation: call.rawValue, path: "/music/a", systemError: number)
            #expect(error.code != .other, "\(call): \(error)")
            #expect(error.remedy != nil || Self.withoutRemedy.contains(number), "\(call): \(error)")
        }
    }

    @Test func `the description says what failed, where, why, and what to do`() {
        let error = FileError(operation: "write", path: "/music/a", systemError: ENOSPC, bytesWritten: 4096)
        #expect(
            "\(error)" == """
                Couldn't write '/music/a': No space left on device (ENOSPC) after 4096 bytes. \
                Free some space on that file system, then try again.
                """)
    }

    @Test func `unknown numbers and the library's own failures have readable descriptions`() {
        #expect(FileError(operation: "open", path: "/a", systemError: 9999).code == .other)
        #expect("\(FileError(operation: "open", path: "/a", systemError: 9999))".contains("errno 9999"))
        #expect(
            "\(FileError(code: .limitExceeded, operation: "read", path: "/a"))".hasSuffix(
                "it exceeds the limit."))
    }

    @Test func `a remedy from the point of failure replaces the default remedy`() {
        let error = FileError(code: .busy, operation: "watch", path: "/a", systemError: ENOSPC, remedy: "Raise it.")
        #expect(error.code == .busy)
        #expect(error.remedy == "Raise it.")
    }

    @Test func `an application's error has the application's message and remedy`() {
        let error = FileError(.locked, subject: "/music", message: "Another player has it.", remedy: "Close it.")
        #expect("\(error)" == "Another player has it. Close it.")
        #expect(error.code == .locked && error.subject == "/music" && error.systemError == 0)
        #expect(
            "\(FileError(.locked, subject: "/music", message: "Another player has it."))" == "Another player has it.")
    }

    @Test func `the localized description includes the remedy`() {
        let error: any Error = FileError(operation: "write", path: "/music/a", systemError: ENOSPC)
        #expect(error.localizedDescription == "\(error)")
        let localized = error as? any LocalizedError
        #expect(localized?.errorDescription == "\(error)")
        #expect(localized?.failureReason == "Couldn't write '/music/a': No space left on device (ENOSPC).")
        #expect(localized?.recoverySuggestion == "Free some space on that file system, then try again.")
    }

    @Test func `errors with the same contents are equal, whatever their cause`() {
        let error = FileError(operation: "open", path: "/a", systemError: ENOENT)
        var caused = error
        caused.cause = CancellationError()
        #expect(caused == error && caused.hashValue == error.hashValue)
        #expect(error.with(operation: "open", path: "/a") == error)
        #expect(caused.with(operation: "close", path: "/a").cause is CancellationError)

        var others = [
            FileError(operation: "close", path: "/a", systemError: ENOENT),
            FileError(operation: "open", path: "/b", systemError: ENOENT),
            FileError(operation: "open", path: "/a", systemError: EIO),
            FileError(operation: "open", path: "/a", systemError: ENOENT, bytesWritten: 1),
        ]
        for change in [\FileError.subject, \FileError.message] {
            others.append(error)
            others[others.count - 1][keyPath: change] = "other"
        }
        others.append(error)
        others[others.count - 1].code = .exists
        others.append(error)
        others[others.count - 1].remedy = nil
        for other in others { #expect(other != error) }
        #expect(Set(others + [error, caused]).count == others.count + 1)
    }
}
