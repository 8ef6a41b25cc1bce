import SluiceFiles
import Testing

@testable import SluiceDownloads

/// What if the target exists? Every combination of what can be known, and the decision for each.
@Suite struct TargetDecisionTests {
    /// The words of a row stand for: the target, the evidence, whether the job may have published it, and the decision with
    /// `ExistingFile.fail`, `.skip` and `.replace`. A combination that can't occur still has a decision, so that none traps.
    private static let table = """
        nothing    noCheckpoint  no   download    download    download
        nothing    noCheckpoint  may  download    download    download
        nothing    unread        no   resume      resume      resume
        nothing    unread        may  resume      resume      resume
        nothing    matches       no   resume      resume      resume
        nothing    matches       may  resume      resume      resume
        nothing    differs       no   resume      resume      resume
        nothing    differs       may  resume      resume      resume
        file       noCheckpoint  no   exists      skip        download
        file       noCheckpoint  may  identify    skip        download
        file       unread        no   exists      skipTidily  resume
        file       unread        may  identify    identify    identify
        file       matches       no   exists      skipTidily  resume
        file       matches       may  complete    complete    complete
        file       differs       no   exists      skipTidily  resume
        file       differs       may  exists      skipTidily  resume
        directory  noCheckpoint  no   directory   directory   directory
        directory  noCheckpoint  may  directory   directory   directory
        directory  unread        no   directory   directory   directory
        directory  unread        may  directory   directory   directory
        directory  matches       no   directory   directory   directory
        directory  matches       may  directory   directory   directory
        directory  differs       no   directory   directory   directory
        directory  differs       may  directory   directory   directory
        device     noCheckpoint  no   device      device      device
        device     noCheckpoint  may  device      device      device
        device     unread        no   device      device      device
        device     unread        may  device      device      device
        device     matches       no   device      device      device
        device     matches       may  device      device      device
        device     differs       no   device      device      device
        device     differs       may  device      device      device
        unknown    noCheckpoint  no   unknown     unknown     unknown
        unknown    noCheckpoint  may  unknown     unknown     unknown
        unknown    unread        no   unknown     unknown     unknown
        unknown    unread        may  unknown     unknown     unknown
        unknown    matches       no   unknown     unknown     unknown
        unknown    matches       may  unknown     unknown     unknown
        unknown    differs       no   unknown     unknown     unknown
        unknown    differs       may  unknown     unknown     unknown
        """

    private static let failure = FileError(code: .permissionDenied, operation: "read the status of", path: "/a")

    private static let targets: [Substring: TargetFacts.Target] = [
        "nothing": .nothing, "file": .file(bytes: 7), "directory": .notAFile(.isDirectory),
        "device": .notAFile(.notRegularFile), "unknown": .unknown(failure),
    ]

    private static let evidence: [Substring: TargetFacts.Evidence] = [
        "noCheckpoint": .noCheckpoint, "unread": .unread, "matches": .matches, "differs": .differs,
    ]

    private static let decisions: [Substring: TargetDecision] = [
        "download": .download(resuming: false), "resume": .download(resuming: true), "identify": .identify,
        "complete": .complete(bytes: 7), "skip": .skip(bytes: 7, hasLeftovers: false),
        "skipTidily": .skip(bytes: 7, hasLeftovers: true), "exists": .refuse(.exists),
        "directory": .refuse(.notAFile(.isDirectory)), "device": .refuse(.notAFile(.notRegularFile)),
        "unknown": .refuse(.cannotBeLookedUp(failure)),
    ]

    @Test func `every combination has the decision in the table`() throws {
        var seen: Set<[Substring]> = []
        for row in Self.table.split(separator: "\n").map({ $0.split(separator: " ") }) {
            let (target, evidence) = (try #require(Self.targets[row[0]]), try #require(Self.evidence[row[1]]))
            for (existing, word) in zip([ExistingFile.fail, .skip, .replace], row[3...]) {
                let decision = TargetDecision(
                    existing: existing, target: target, evidence: evidence, mayBePublished: row[2] == "may")
                #expect(decision == Self.decisions[word], "\(row.joined(separator: " ")), \(existing)")
            }
            seen.insert(Array(row[...2]))
        }
        #expect(seen.count == Self.targets.count * Self.evidence.count * 2, "the table lists every combination once")
    }

    @Test(arguments: [TargetFacts.Evidence.noCheckpoint, .unread])
    func `a recorded file counts as gone only if no file has its name`(evidence: TargetFacts.Evidence) {
        let gone = Self.targets.filter { TargetFacts(target: $0.value, evidence: evidence).isGone }
        #expect(Set(gone.keys) == ["nothing", "directory", "device"])
    }
}
