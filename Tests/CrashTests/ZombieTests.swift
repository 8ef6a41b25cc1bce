import Foundation
import LoopbackOrigin
import TestSupport
import Testing

@testable import SluiceDownloads

/// A process is stopped (SIGSTOP) for longer than its lease, as by a debugger or when a machine sleeps. Meanwhile, another one takes over.
@Suite struct `A worker that is stopped for longer than its lease` {
    private static let limits = DownloadCoordinator.Limits(total: 1, perHost: 1, perUser: 1)
    private static let steps = ["claimed"] + TransferPhase.allCases.map { "\($0)" } + ["recorded"]

    /// The inode numbers of the files. A replaced file has a different number.
    private static func numbers(_ queue: SharedQueue) throws -> [String: UInt64] {
        let files = FileManager.default
        var numbers: [String: UInt64] = [:]
        for name in try files.contentsOfDirectory(atPath: queue.files.path) where !name.contains(".sluice") {
            let attributes = try files.attributesOfItem(atPath: queue.files.appending(path: name).path)
            numbers[name] = (attributes[.systemFileNumber] as? NSNumber)?.uint64Value
        }
        return numbers
    }

    @Test(.timeLimit(.minutes(15)), arguments: QueueKind.allCases, steps)
    func `stops the lost job, records no outcome for it, and replaces no file`(
        _ kind: QueueKind, _ step: String
    ) async throws {
        try await SharedQueue.with(kind) { queue in
            // Only the store can count for the limits, because the server still sees the connection of the stopped process.
            let songs = Songs(3, lanes: 1, seed: 4, ledger: Ledger(limits: .init(total: .max, perHost: nil)))
            try await LoopbackOrigin.serve {
                let answer = await songs.answer($0)
                // The first transfer would take an hour, so its worker must stop it.
                return step == "receiving" && songs.ledger.state.requests.values.reduce(0, +) == 1
                    ? answer.endless : answer
            } during: { origin in
                let requests = try songs.requests(lane: 0, origin, to: queue.files)
                let first = try await queue.store.enqueue(requests, options: EnqueueOptions())[0].id
                let options = ["lease": "3"]
                let barrier = queue.directory.appending(path: "go on")
                let sleeper = try queue.worker(
                    Self.limits, options.merging(["step": step, "signal": "STOP", "until": barrier.path]) { $1 })
                defer { sleeper.signal(SIGKILL) }
                try await sleeper.stopped(outside: queue.isLocked)
                let heir = try queue.worker(Self.limits, options)
                defer { heir.signal(SIGKILL) }
                // The lost job may have to wait, because the stopped process has locked its partial file. The others don't.
                let taken = try await queue.history { history in
                    history.counts(.done).filter { $0.key != first }.count == requests.count - 1
                }
                let before = try Self.numbers(queue)
                try Data().write(to: barrier)
                sleeper.signal(SIGCONT)
                let (slept, inherited) = (await sleeper.end(), await heir.end())
                #expect(!slept.wasKilled && slept.status == 0, "\(slept.error)")
                #expect(!inherited.wasKilled && inherited.status == 0, "\(inherited.error)")

                let history = try await queue.history()
                if step == "recorded" {
                    #expect(taken.counts(.released)[first] == nil, "the job had ended")
                } else {
                    // This happens again each time the heir finds the partial file locked.
                    #expect(taken.counts(.released)[first] ?? 0 >= 1, "the lease was taken back")
                }
                #expect(history.lossesAndRepeats() == [])
                #expect(history.violations(of: Self.limits) == [])
                // The sleeper may begin the lost job before it knows, and leave a partial file beside the complete one.
                let wrong = try songs.wrongFiles(in: queue.files)
                let left = ["song-0.sluice.part is left", "song-0.sluice.json is left"]
                #expect(wrong.filter { !left.contains($0) } == [])
                let after = try Self.numbers(queue)
                #expect(before.filter { after[$0.key] != $0.value } == [:], "a file was published twice")
                try await songs.ledger.waitUnlessCancelled { $0.runningCount == 0 }
                // Each end was recorded by one worker, and the sleeper's first settlement was refused.
                #expect((slept.finished + inherited.finished).count == requests.count)
            }
        }
    }
}

extension OriginResponse {
    /// Sends the last bytes one after the other, each after a pause.
    fileprivate var endless: OriginResponse {
        var response = self
        // This takes an hour. The bytes before the tail are more than one write of a transfer.
        let tail = 4000
        var bytes = steps.flatMap { step -> [UInt8] in
            if case .send(let bytes) = step { bytes } else { [] }
        }
        let last = bytes.suffix(min(tail, bytes.count))
        bytes.removeLast(last.count)
        response.steps = [.send(bytes)] + last.flatMap { [.pause(.seconds(1)), .send([$0])] }
        // Keeps the step that notes the end of the request.
        response.steps += steps.filter { if case .perform = $0 { true } else { false } } + [.pause(.zero)]
        return response
    }
}
