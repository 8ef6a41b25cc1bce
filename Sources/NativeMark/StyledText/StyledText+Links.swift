#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension StyledText.Link {
    /// The schemes that apps open unless they choose others: `http`, `https` and `mailto`.
    public static let openSchemes: Set<String> = ["http", "https", "mailto"]

    /// Where the link leads, if that is a URL with one of some schemes.
    ///
    ///     StyledText.Link(destination: "HTTPS://example.com", title: nil).url()     // a URL
    ///     StyledText.Link(destination: "settings:audio", title: nil).url()          // nil
    ///     link.url(schemes: StyledText.Link.openSchemes.union(["settings"]))
    ///
    /// A document comes from somebody else, and a scheme may start another app or call a number; a destination without any
    /// leads nowhere outside of a web page.
    public func url(schemes: Set<String> = openSchemes) -> URL? {
        guard let colon = destination.firstIndex(of: ":"),
            schemes.contains(destination[..<colon].lowercased())
        else { return nil }
        return URL(string: destination)
    }
}
