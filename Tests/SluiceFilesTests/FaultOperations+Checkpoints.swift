import Foundation
import SluiceFiles

extension FaultedOperation {
    static let checkpoints: [Self] = [
        Self("checkpointed file: from opening to publishing", checkpointed) { io, directory in
            guard
                let opened = try await CheckpointedFile.openLocked(places(directory), mode: .ifCheckpointed, using: io)
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
                as: directory.appending(path: "whole"), existing: .fail, durability: .data, removingOnFailure: false)
        }.checking { directory, _ in
            let checkpoint = directory.appending(path: "song.check")
            let isThere = names(in: directory).contains("song.check")
            return !isThere || ["old", "new"].map({ Data($0.utf8) }).contains(contents(of: checkpoint))
                ? nil : "the checkpoint is neither old nor new"
        }.believingCheckpoints().ignoring(.close, at: 0, 2, 3)
            // The empty file that shows which rights a new one gets. Its name is unique, and there may be no room for it.
            .believing(.open, EEXIST, ENOSPC, EDQUOT).ignoring(.unlink, at: 1),
        Self("checkpointed file: closed with a checkpoint", checkpointed) { io, directory in
            let opened = try await CheckpointedFile.openLocked(places(directory), mode: .always, using: io)
            try await opened?.file.close(appending: [pattern(10)], durability: .full) { _ in Data("new".utf8) }
        }.believingCheckpoints(),
        Self("checkpointed file: discarded", checkpointed) { io, directory in
            let opened = try await CheckpointedFile.openLocked(places(directory), mode: .always, using: io)
            await opened?.file.discard()
        }
        // It gives no account of itself.
        .believingCheckpoints().ignoring(.status).ignoring(.unlink).ignoring(.close),
        Self("checkpointed file: removed", checkpointed) { io, directory in
            if try await !CheckpointedFile.removeUnlessLocked(places(directory), using: io) {
                throw WrongResult("locked")
            }
            if !names(in: directory).isEmpty { throw WrongResult("is still there") }
        }.believingCheckpoints().ignoring(.close).ignoring(.startThread)
            .believing(.lock, EWOULDBLOCK).believing(.open, EWOULDBLOCK).believing(.unlink, ENOENT),
        Self("checkpointed file: looked at when published", checkpointed) { io, directory in
            let found = try await CheckpointedFile.published(
                places(directory), as: directory.appending(path: "song.part"), using: io)
            if found?.size != 300 { throw WrongResult("not found") }
        }.believingCheckpoints().ignoring(.close),
    ]

    private static func places(_ directory: URL) -> CheckpointedFile.Places {
        .init(
            file: directory.appending(path: "song.part"), checkpoint: directory.appending(path: "song.check"),
            temporary: directory.appending(path: "song.check-new"))
    }

    private static let checkpointed: @Sendable (URL) throws -> Void = { directory in
        try pattern(300).write(to: directory.appending(path: "song.part"))
        try Data("old".utf8).write(to: directory.appending(path: "song.check"))
    }

    /// A checkpoint is missing, or a file with its name isn't one. It is only read.
    private func believingCheckpoints() -> Self {
        // A file that others can open is closed to them, if possible.
        withoutLists().ignoring(.changeMode, at: 0).believing(.status, ENOENT, ENOTDIR).believing(
            .open, EEXIST, ENOENT, ELOOP, ENXIO, ENODEV, EOPNOTSUPP
        )
        .ignoring(
            .close, at: 0)
    }
}
