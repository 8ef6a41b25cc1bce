import Foundation
import SluiceFiles
import TestSupport

/// Copies the directory at each system call that changes it: the state that a kill at that moment would leave.
final class DirectoryCopies: Sendable {
    let directory: URL
    let copies: URL
    private let count = Guarded(0)
    let failures = Recorder<any Error>()

    init(of directory: URL, in copies: URL) {
        self.directory = directory
        self.copies = copies
    }

    func take() {
        let number = count.withLock { count in
            defer { count += 1 }
            return count
        }
        do {
            try FileManager.default.copyItem(at: directory, to: copies.appending(path: "\(number)"))
        } catch {
            failures.note(error)
        }
    }

    var all: [URL] { (0..<count.withLock { $0 }).map { copies.appending(path: "\($0)") } }

    var calls: SystemCalls {
        let real = SystemCalls.system
        var calls = real
        calls.open = { path, flags, mode in
            defer { if flags & O_CREAT != 0 { self.take() } }
            return real.open(path, flags, mode)
        }
        calls.write = { descriptor, bytes in
            self.take()
            defer { self.take() }
            return real.write(descriptor, bytes)
        }
        calls.rename = { source, destination in
            self.take()
            defer { self.take() }
            return real.rename(source, destination)
        }
        calls.randomAccess.writeAt = { descriptor, bytes, offset in
            self.take()
            defer { self.take() }
            return real.randomAccess.writeAt(descriptor, bytes, offset)
        }
        calls.unlink = { path in
            self.take()
            defer { self.take() }
            return real.unlink(path)
        }
        return calls
    }
}
