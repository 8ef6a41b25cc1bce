import SluiceFiles

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Makes directories, each once.
actor DirectoryMaker {
    private let files: FileIO
    private var made: [URL: FileError?] = [:]

    init(files: FileIO) { self.files = files }

    /// Makes the directory if it is missing; returns why that is not possible.
    func make(_ directory: URL) async -> FileError? {
        if let known = made[directory] { return known }
        do {
            try await files.makeDirectory(at: directory)
            made[directory] = .some(nil)
        } catch let error as FileError {
            made[directory] = error
            return error
        } catch {
            // Cancelled: so is what wanted it.
        }
        return nil
    }
}
