import SluiceFiles

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

actor DirectoryMaker {
    private let files: FileIO
    private var made: [URL: FileError?] = [:]

    init(files: FileIO) { self.files = files }

    /// Returns the error if the directory can't be created.
    func make(_ directory: URL) async -> FileError? {
        if let known = made[directory] { return known }
        do {
            try await files.makeDirectory(at: directory)
            made[directory] = .some(nil)
        } catch let error as FileError {
            made[directory] = error
            return error
        } catch {
            // Cancelled, and so is the attempt that needs the directory.
        }
        return nil
    }
}
