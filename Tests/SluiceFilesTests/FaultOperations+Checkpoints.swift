import Foundation
import SluiceFiles

extension FaultedOperation {
    static let checkpoints: [Self] = [
        Self("checkpointed file: from opening to publishing", checkpointed) { io, folder in
            guard let opened = try await CheckpointedFile.openLocked(places(folder), mode: .ifCheckpointed, using: io)
            else {
                throw WrongResult("not opened")
            }
            if opened.size != 300 || opened.checkpoint != Data("old".utf8) {
                throw WrongResult("opened something else")
            }
            let file = opened.file
            do {
                if try await file.append([pattern(100), pattern(700)]) != 1100 { throw WrongResult("another size") }
                try await file.sync(.data, thenStoring: Data("new".utf8))
                try await file.truncate(to: 900)
                try await file.removeCheckpoint()
            } catch {
                try? await file.close(appending: [], durability: .none) { _ in nil }
                throw error
            }
            try await file.publish(
                as: folder.appending(path: "whole"), existing: .fail, durability: .data, removingOnFailure: false)
        }.checking { folder, _ in
            let checkpoint = folder.appending(path: "song.check")
            let isThere = names(in: folder).contains("song.check")
            return !isThere || ["old", "new"].map({ Data($0.utf8) }).contains(contents(of: checkpoint))
                ? nil : "the checkpoint is neither old nor new"
        }.believingCheckpoints().ignoring(.close, at: 0, 2),
        Self("checkpointed file: closed with a checkpoint", checkpointed) { io, folder in
            let opened = try await CheckpointedFile.openLocked(places(folder), mode: .always, using: io)
            try await opened?.file.close(appending: [pattern(10)], durability: .full) { _ in Data("new".utf8) }
        }.believingCheckpoints(),
        Self("checkpointed file: discarded", checkpointed) { io, folder in
            let opened = try await CheckpointedFile.openLocked(places(folder), mode: .always, using: io)
            await opened?.file.discard()
        }
        // It gives no account of itself.
        .believingCheckpoints().ignoring(.status).ignoring(.unlink).ignoring(.close),
        Self("checkpointed file: removed", checkpointed) { io, folder in
            if try await !CheckpointedFile.removeUnlessLocked(places(folder), using: io) { throw WrongResult("locked") }
            if !names(in: folder).isEmpty { throw WrongResult("is still there") }
        }.believingCheckpoints().ignoring(.close).ignoring(.startThread)
            .believing(.lock, EWOULDBLOCK).believing(.open, EWOULDBLOCK).believing(.unlink, ENOENT),
        Self("checkpointed file: looked at when published", checkpointed) { io, folder in
            let found = try await CheckpointedFile.published(
                places(folder), as: folder.appending(path: "song.part"), using: io)
            if found?.size != 300 { throw WrongResult("not found") }
        }.believingCheckpoints().ignoring(.close),
    ]

    private static func places(_ folder: URL) -> CheckpointedFile.Places {
        .init(
            file: folder.appending(path: "song.part"), checkpoint: folder.appending(path: "song.check"),
            temporary: folder.appending(path: "song.check-new"))
    }

    private static let checkpointed: @Sendable (URL) throws -> Void = { folder in
        try pattern(300).write(to: folder.appending(path: "song.part"))
        try Data("old".utf8).write(to: folder.appending(path: "song.check"))
    }

    /// A checkpoint is missing, or what has its name is none. It is only read.
    private func believingCheckpoints() -> Self {
        believing(.status, ENOENT, ENOTDIR).believing(.open, ENOENT, ELOOP, ENXIO, ENODEV, EOPNOTSUPP).ignoring(
            .close, at: 0)
    }
}
