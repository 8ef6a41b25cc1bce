import Foundation
import HTTPTypes
import SluiceFiles
import Testing

@testable import SluiceDownloads
@testable import SluiceHTTP

@Suite struct `The scope of a failure` {
    /// The table of the article WhenSomethingFails.
    private static let files: [(FailureScope, [FileError.Code])] = [
        (.worker, [.noSpace, .quotaExceeded, .tooManyOpenFiles, .exhausted, .shutDown]),
        (
            .directory,
            [
                .permissionDenied, .readOnly, .notFound, .notDirectory, .tooManyLinks, .busy, .inputOutput,
                .unsupported,
                .other,
            ]
        ),
        (.lock, [.locked]),
        (
            .download,
            [
                .exists, .replaced, .isDirectory, .notEmpty, .nameTooLong, .invalidPath, .differentFileSystems,
                .sameFile, .notRegularFile, .noAttribute, .fileTooLarge, .limitExceeded, .cancelled, .brokenPipe,
                .invalidArgument,
            ]
        ),
    ]

    private static let transfers: [(FailureScope, [TransferError.Code])] = [
        (.network, [.hostNotFound, .connectTimedOut, .connectionFailed, .proxyFailed]),
        (.host, [.connectionRefused]),
        (.worker, [.shutDown]),
        (
            .server,
            [
                .tlsFailed, .stalled, .connectionClosed, .protocolViolation, .bodyTooShort, .bodyTooLong,
                .tooManyRedirects, .redirectRefused, .unexpectedCoding,
            ]
        ),
        (
            .download,
            [
                .invalidURL, .headerFieldsFailed, .resolutionFailed, .fileExists, .targetTaken, .nameReserved,
                .alreadyQueued, .removed, .paused, .unknown,
            ]
        ),
    ]

    @Test func `of a file follows from its code`() {
        for (scope, codes) in Self.files {
            for code in codes { #expect(FailureScope(code) == scope, "\(code)") }
        }
    }

    @Test func `of a transfer follows from its code, its status or its file error`() throws {
        let url = try #require(URL(string: "https://a.example/"))
        for (scope, codes) in Self.transfers {
            for code in codes {
                let error = TransferError(code, url: url)
                #expect(FailureScope(error) == scope && !(scope == .download && error.isTransient), "\(code)")
            }
        }
        #expect(FailureScope(TransferError(status: .notFound, url: url)) == .server)
        let full = FileError(.noSpace, subject: "/a", message: "Full.")
        #expect(FailureScope(TransferError(.file, url: url, cause: full)) == .worker)
    }

    #if !canImport(Darwin) || os(macOS)
    @Test func `of a connection is the worker if no descriptors or memory were left for it`() throws {
        let url = try #require(URL(string: "https://a.example/"))
        for number in [EMFILE, ENFILE, ENOMEM, ENOBUFS] {
            let error = TransferError(connecting: number, nil, url)
            #expect(FailureScope(error) == .worker && error.code == .connectionFailed)
            #expect((error.cause as? FileError)?.systemError == number && error.remedy?.isEmpty == false)
        }
        #expect(FailureScope(TransferError(connecting: EHOSTUNREACH, nil, url)) == .network)
        #expect(FailureScope(TransferError(connecting: 0, "text", url)) == .network)
    }
    #endif

    // MARK: What failed connections mean

    private static let error = TransferError(.hostNotFound, url: URL(string: "https://a.example/")!)

    private static func watch(
        waitsForNetwork: Bool = true, endsWithoutNetwork: Bool = false
    ) -> ReachWatch {
        ReachWatch(
            .init(
                breaker: .init(maximumFailures: 2, pause: .seconds(30), patience: .seconds(100)),
                waitsForNetwork: waitsForNetwork, endsWithoutNetwork: endsWithoutNetwork))
    }

    @Test func `jobs wait for a host with an open circuit until the patience runs out`() {
        var watch = Self.watch()
        func fail(_ host: String, at now: Int64) -> ReachWatch.Verdict {
            watch.noteFailure(of: host, isSilent: false, Self.error, now: now)
        }
        #expect([0, 1].map { fail("a", at: $0) } == [.counts, .counts])
        #expect([2, 99_999].map { fail("a", at: $0) } == [.waitsForHost, .waitsForHost])
        #expect(fail("b", at: 99_999) == .counts, "each host by itself")
        #expect(watch.refusal(of: "a", now: 99_999) == nil)
        #expect(fail("a", at: 100_000) == .givesUp)
        #expect(watch.refusal(of: "a", now: 129_999) == Self.error && watch.refusal(of: "b", now: 129_999) == nil)
        #expect(watch.refusal(of: "a", now: 130_000) == nil, "it is tried again")
        #expect(fail("a", at: 130_000) == .givesUp)
        watch.noteReached("a")
        #expect(watch.refusal(of: "a", now: 130_001) == nil)
        #expect(fail("a", at: 130_001) == .counts)
    }

    @Test func `several silent hosts in a row mean there is no network`() {
        var watch = Self.watch()
        func fail(_ host: String, isSilent: Bool = true, at now: Int64) -> ReachWatch.Verdict {
            watch.noteFailure(of: host, isSilent: isSilent, Self.error, now: now)
        }
        #expect(fail("a", at: 0) == .counts && fail("a", at: 0) == .counts && watch.room(8, now: 0) == 8)
        #expect(fail("b", isSilent: false, at: 0) == .counts, "a host that refuses is a sign of the network")
        #expect(fail("b", at: 0) == .counts)
        #expect(fail("c", at: 0) == .waitsForNetwork(1000))
        // One attempt after each pause, and the pauses grow.
        #expect([0, 999, 1000, 1001, 2999, 3000].map { watch.room(8, now: $0) } == [0, 0, 1, 0, 0, 1])
        #expect(watch.nextTry == 7000 && watch.room(0, now: 8000) == 0)
        #expect(fail("d", at: 3000) == .waitsForNetwork(4000))
        watch.noteReached("d")
        #expect(watch.room(8, now: 3001) == 8 && watch.nextTry == nil)
        #expect(fail("d", at: 3002) == .counts)
    }

    @Test func `without a network, hosts that weren't silent are tried before the others`() {
        var watch = Self.watch()
        func fail(_ host: String, at now: Int64) -> ReachWatch.Verdict {
            watch.noteFailure(of: host, isSilent: true, Self.error, now: now)
        }
        #expect(fail("a", at: 0) == .counts && watch.avoided.isEmpty)
        #expect(fail("b", at: 0) == .waitsForNetwork(1000))
        #expect(watch.room(8, now: 1000) == 1 && watch.avoided == ["a", "b"])
        watch.noteNoOtherHost(now: 1000)
        #expect(watch.room(8, now: 1000) == 1 && watch.avoided.isEmpty)
        #expect(fail("a", at: 1000) == .waitsForNetwork(2000), "the second look doesn't make the pause longer")
        #expect(watch.room(8, now: 3000) == 1 && watch.avoided == ["a", "b"])
        #expect(fail("c", at: 3000) == .waitsForNetwork(4000) && watch.avoided == ["a", "b", "c"])
        watch.noteReached("d")
        #expect(watch.avoided.isEmpty)
    }

    @Test func `a run with an end waits for the network only so long, and a list doesn't wait at all`() {
        var watch = Self.watch(endsWithoutNetwork: true)
        _ = watch.noteFailure(of: "a", isSilent: true, Self.error, now: 0)
        #expect(watch.noteFailure(of: "b", isSilent: true, Self.error, now: 0) == .waitsForNetwork(1000))
        let patience = ReachWatch.networkPatience
        #expect(watch.noteFailure(of: "b", isSilent: true, Self.error, now: patience) == .endsRun)
        watch = Self.watch(waitsForNetwork: false)
        for host in ["a", "b", "c"] {
            #expect(watch.noteFailure(of: host, isSilent: true, Self.error, now: 0) == .counts)
        }
    }
}
