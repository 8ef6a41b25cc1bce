import Foundation
import SluiceFiles
import Testing

/// A process that replaces a file and dies, as `kill -9` does it, before each of its system calls and after the last.
struct `Killed while replacing` {
    static let levels = ["none", "data", "full", "fullAndDirectory"]

    @Test(.timeLimit(.minutes(5)), arguments: levels, ["-", "file.part"])
    func `leaves the old file or the new one, whole, and its lock to the next`(level: String, name: String) async throws
    {
        let worker = try #require(Child.program("FileWorker"))
        try await withIO(in: memoryDirectory) { io, directory in
            let url = directory.appending(path: "file")
            let (old, new) = (pattern(3000), Data(repeating: 0x6E, count: 5000))
            var (step, deaths, whenNew) = (0, 0, 0)
            while true {
                try old.write(to: url)
                chmod(url.path, 0o640)
                let end = await Child.run(worker, ["replace", url.path, level, name, "\(step)"])
                if !end.wasKilled {
                    #expect(end.status == 0, "\(end)")
                    #expect(same(contents(of: url), new))
                    break
                }
                deaths += 1
                let found = contents(of: url)
                let isNew = same(found, new)
                #expect(isNew || same(found, old), "killed before call \(step): neither old nor new")
                #expect(mode(of: url) == 0o640)
                #expect(isNew || whenNew == 0, "old again after it was new")
                if isNew { whenNew += 1 }
                let left = names(in: directory).filter { $0 != "file" }
                #expect(left.count <= 1 && left.allSatisfy { $0 == name || $0.hasPrefix(".sluice-") }, "\(left)")

                // The next process gets through, also under the name that the dead one had locked.
                let options = FileWriteOptions(durability: .none, temporaryName: name == "-" ? nil : name)
                try await old.asyncWrite(to: url, options: options, using: io)
                #expect(same(contents(of: url), old))
                for name in names(in: directory) where name.hasPrefix(".sluice-") {
                    try FileManager.default.removeItem(at: directory.appending(path: name))
                }
                #expect(names(in: directory) == ["file"])
                step += 1
            }
            print("killed while replacing, \(level), \(name): \(deaths) deaths, \(whenNew) with the new file in place")
            #expect(deaths >= (level == "none" ? 5 : 6))
            #expect(whenNew == (level == "fullAndDirectory" ? 3 : 0) + (name == "-" ? 0 : 2))
        }
    }
}
