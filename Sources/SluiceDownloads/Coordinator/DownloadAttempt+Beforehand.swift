import SluiceFiles

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// MARK: Decisions that need no server

extension DownloadAttempt {
    /// Makes the decisions that need no server: creates directories, and looks for partial files and existing targets. Many files are
    /// looked up in one job, because a thread switch for each would be too expensive.
    static func decidedBeforehand(_ attempts: inout [DownloadAttempt]) async -> [SettledJob?] {
        guard let coordinator = attempts.first?.run.coordinator else { return [] }
        // A sighting is valid for the first attempt only, because that attempt changes the files.
        var found = attempts.map { $0.job.failures == 0 ? coordinator.lookout.take($0.id) : nil }
        let unknown = found.indices.filter { found[$0] == nil }
        if !unknown.isEmpty {
            let seen = await Lookout.look(at: unknown.map { attempts[$0].job.request }, coordinator.files)
            for (index, one) in zip(unknown, seen ?? []) { found[index] = one }
        }
        var decided: [SettledJob?] = []
        var made: (directory: TargetDirectory, failure: FileError?)?
        for (index, attempt) in attempts.enumerated() {
            if attempt.job.request.hasReservedName {
                decided.append(await attempt.failed(.nameReserved(attempt.job.request)))
                continue
            }
            let directory = attempt.job.request.targetDirectory
            if made?.directory != directory { made = (directory, await attempt.run.directories.make(directory.url)) }
            if let failure = made?.failure {
                decided.append(await attempt.failed(.file(failure, of: attempt.job.request)))
            } else {
                // If the lookup was cancelled, the run and its attempts are cancelled too.
                if let isUntidy = found[index]?.mayResume { attempts[index].mayResume = isUntidy }
                let one =
                    if let seen = found[index] { await attempt.decided(by: seen.target) } else { nil as SettledJob? }
                if attempts[index].mayResume, case .finished(_, .skipped) = one?.event {
                    // The file exists, so the partial file of an earlier attempt is no longer needed.
                    try? await Transfer.discardPartial(of: attempt.job.request, files: coordinator.files)
                }
                decided.append(one)
            }
        }
        return decided
    }

    private func decided(by status: Result<FileStatus?, FileError>) async -> SettledJob? {
        switch status {
        case .success(nil): return nil
        case .success where job.mayBePublished:
            // The target may be the result of this job; the transfer can recognize it.
            return nil
        case .success(let found?) where configuration.existing == .replace:
            // Fails now instead of after the transfer.
            guard found.kind == .directory else { return nil }
            let failure = FileError(
                code: .isDirectory, operation: "replace", path: job.request.target.path(percentEncoded: false),
                remedy: "Choose another name, or remove the directory.")
            return await failed(.file(failure, of: job.request))
        case .success(let found?) where configuration.existing == .skip:
            return settled(.done(bytes: Int64(found.size)), .finished(job: id, outcome: .skipped))
        case .success: return await failed(.fileExists(job.request))
        case .failure(let failure): return await failed(.file(failure, of: job.request))
        }
    }
}
