import Foundation
import SwiftUI

/// Asks for the address of a file to download.
struct AddView: View {
    let model: Model
    @State private var address = ""
    @Environment(\.dismiss) private var dismiss

    private var url: URL? {
        guard let url = URL(string: address), ["http", "https"].contains(url.scheme), url.host() != nil else {
            return nil
        }
        return url
    }

    var body: some View {
        NavigationStack {
            Form {
                TextField("https://example.com/song.mp3", text: $address)
                    .autocorrectionDisabled()
            }
            .navigationTitle("New Download")
            .toolbar {
                ToolbarItem(placement: .cancellationAction) {
                    Button("Cancel") { dismiss() }
                }
                ToolbarItem(placement: .confirmationAction) {
                    Button("Download") {
                        if let url { model.add(url) }
                        dismiss()
                    }
                    .disabled(url == nil)
                }
            }
        }
    }
}
