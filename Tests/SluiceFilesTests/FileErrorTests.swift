import Foundation
import SluiceFiles
import Testing

@Suite struct `File errors` {
    static let table: [(CInt, String, FileError.Code)] = [
        (ENOENT, "ENOENT", .notFound), (EACCES, "EACCES", .permissionDenied), (EPERM, "EPERM", .permissionDenied),
        (EISDIR, "EISDIR", .isDirectory), (ENOTDIR, "ENOTDIR", .notDirectory), (EEXIST, "EEXIST", .exists),
        (ENOTEMPTY, "ENOTEMPTY", .notEmpty), (ENOSPC, "ENOSPC", .noSpace), (EDQUOT, "EDQUOT", .quotaExceeded),
        (EMFILE, "EMFILE", .tooManyOpenFiles), (ENFILE, "ENFILE", .tooManyOpenFiles), (ELOOP, "ELOOP", .tooManyLinks),
        (ENAMETOOLONG, "ENAMETOOLONG", .nameTooLong), (EROFS, "EROFS", .readOnly),
        (EXDEV, "EXDEV", .differentFileSystems),
        (EIO, "EIO", .inputOutput), (ETXTBSY, "ETXTBSY", .busy), (EBUSY, "EBUSY", .busy),
        (EFBIG, "EFBIG", .fileTooLarge),
        (EWOULDBLOCK, "EWOULDBLOCK", .locked), (ENOLCK, "ENOLCK", .exhausted), (ENOMEM, "ENOMEM", .exhausted),
        (ESTALE, "ESTALE", .inputOutput), (EOPNOTSUPP, "EOPNOTSUPP", .unsupported), (ENOSYS, "ENOSYS", .unsupported),
        (ENXIO, "ENXIO", .notRegularFile), (EBADF, "EBADF", .invalidArgument), (EINVAL, "EINVAL", .invalidArgument),
        (EPIPE, "EPIPE", .brokenPipe),
    ]

    @Test(arguments: table)
    func `an error number has a code, a name and, where something can be done, a remedy`(
        number: CInt, name: String, code: FileError.Code
    ) {
        let error = FileError(operation: "open", path: "/music/a", systemError: number)
        #expect(error.code == code)
        #expect(error.description.hasPrefix("could not open '/music/a': "))
        #expect(error.description.contains("(\(name))"))
        #expect(!error.description.contains("\n"))
        if number != EPIPE && number != EINVAL {
            #expect(error.remedy?.hasSuffix(".") == true || error.remedy?.hasSuffix(")") == true)
        }
    }

    @Test func `the line says what failed, where, in the system's words, and what to do`() {
        let error = FileError(operation: "write", path: "/music/a", systemError: ENOSPC, bytesWritten: 4096)
        #expect(
            "\(error)" == """
                could not write '/music/a': No space left on device (ENOSPC) after 4096 bytes. \
                Free some space on that file system, then try again.
                """)
    }

    @Test func `unknown numbers and the library's own failures read well too`() {
        #expect(FileError(operation: "open", path: "/a", systemError: 9999).code == .other)
        #expect("\(FileError(operation: "open", path: "/a", systemError: 9999))".contains("errno 9999"))
        #expect(
            "\(FileError(code: .limitExceeded, operation: "read", path: "/a"))".hasSuffix(
                "there is more than the limit"))
    }
}
