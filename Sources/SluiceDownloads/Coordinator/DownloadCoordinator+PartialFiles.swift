import SluiceFiles

extension DownloadCoordinator {
    /// Removes the partial files of cancelled downloads. Those that can't be removed stay.
    package func discardPartialFiles(of downloads: [QueuedDownload]) async {
        let directory = directory
        for download in downloads {
            try? await Transfer.discardPartial(of: download.request.resolved(in: directory), files: files)
        }
    }
}
