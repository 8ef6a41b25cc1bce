import SluiceFiles

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Makes folders, each once.
actor FolderMaker {
    private let files: FileIO
    private var made: [URL: FileError?] = [:]

    init(files: FileIO) { self.files = files }

    /// Makes the folder if it is missing; returns why that is not possible.
    func make(_ folder: URL) async -> FileError? {
        if let known = made[folder] { return known }
        do {
            try await files.makeDirectory(at: folder)
            made[folder] = .some(nil)
        } catch let error as FileError {
            made[folder] = error
            return error
        } catch {
            // Cancelled: so is what wanted it.
        }
        return nil
    }
}
