import Foundation
import LoopbackOrigin
import SluiceFiles
import TestSupport
import Testing

@testable import SluiceCommands

@Suite(.timeLimit(.minutes(15))) struct `Limits of a process` {
    @Test func `that leave enough are no obstacle`() {
        #expect(ProcessLimits.needed().lack() == nil)
        #expect(ProcessLimits(threads: 1, addressSpace: 1).lack() == nil)
    }

    @Test func `on address space end in a message that names the limit`() throws {
        let lack = try #require(ProcessLimits(threads: 1, addressSpace: 1 << 60).lack())
        #expect(lack.contains("MiB of address space") && lack.contains("ulimit -v"))
    }

    /// Downloads a file under a limit.
    private func get(_ line: String) async throws -> ChildProgram.Ended {
        try await FileIO.shared.withTemporaryDirectory(prefix: "sluice-tests") { directory in
            try await LoopbackOrigin.serve { _ in
                OriginResponse(body: [1, 2, 3])
            } during: { origin in
                let arguments = ["get", "-d", directory.path, "--db", directory.appending(path: "queue.db").path]
                let ended = try await ChildProgram.run(line, arguments + ["/a", "/b"].map(origin.url))
                let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
                #expect(names.contains("a") == (ended.status == 0), "\(ended)")
                return ended
            }
        }
    }

    @Test func `on address space let a download succeed, or refuse it at the start`() async throws {
        var statuses: Set<Int32> = []
        // Less than the first isn't enough for the program's libraries.
        for megabytes in stride(from: 200, through: 620, by: 30) {
            let ended = try await get("ulimit -v \(megabytes << 10) && exec \"$@\"")
            statuses.insert(ended.status)
            #expect(!ended.wasSignalled && [0, 1].contains(ended.status), "\(megabytes) MiB: \(ended)")
            let message = "MiB of address space, but its limit leaves less. Raise the limit with ulimit -v"
            #expect(ended.error.contains(message) == (ended.status == 1), "\(megabytes) MiB: \(ended)")
        }
        #expect(statuses == [0, 1])
    }

    private static let canRaiseStack = {
        var limit = rlimit()
        #if os(Linux)
        getrlimit(__rlimit_resource_t(RLIMIT_STACK.rawValue), &limit)
        #else
        getrlimit(RLIMIT_STACK, &limit)
        #endif
        return limit.rlim_max == rlim_t.max
    }()

    @Test(
        .enabled(if: canRaiseStack, "skipped: the hard limit of the stack is too small"),
        arguments: [(1 << 40, "MiB of address space"), (1 << 50, "ulimit -s")])
    func `on the stack end in a message also if the stacks fit into no address space`(
        kibibytes: Int, message: String
    ) async throws {
        let ended = try await get("ulimit -s \(kibibytes) && exec \"$@\"")
        #expect(ended.status == 1 && !ended.wasSignalled && ended.error.contains(message), "\(ended)")
    }

    /// Root has no limit of threads, and only root can become a user that has one.
    private static let canChangeUser =
        geteuid() == 0 && FileManager.default.isExecutableFile(atPath: "/usr/bin/setpriv")

    @Test(.enabled(if: canChangeUser, "skipped: only root with setpriv(1) can run a process as another user"))
    func `on threads let a download succeed, or refuse it at the start`() async throws {
        let needed = ProcessLimits.needed().threads
        // A user without other processes that count, and with access to every directory.
        let user = 61_000 + getpid() % 4_000
        let line = """
            exec setpriv --reuid \(user) --clear-groups --inh-caps +dac_override,+dac_read_search \
            --ambient-caps +dac_override,+dac_read_search prlimit --nproc=
            """
        for threads in [1, 2, 4, needed - 1, needed] {
            let ended = try await get("\(line)\(threads) \"$@\"")
            #expect(ended.status == 1 && !ended.wasSignalled, "\(threads): \(ended)")
            let message = "sluice: This process needs \(needed) threads, but its limit leaves \(threads - 1). "
            #expect(ended.error.hasPrefix(message) && ended.error.contains("ulimit -u"), "\(threads): \(ended)")
        }
        let ended = try await get("\(line)\(needed + 1) \"$@\"")
        #expect(ended.status == 0 && !ended.wasSignalled, "\(ended)")
    }
}
