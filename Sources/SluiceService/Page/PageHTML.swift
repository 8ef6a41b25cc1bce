import HTTPTypes
import SluiceDownloads

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The pages as HTML. All text from the queue is escaped, and scripts in it wouldn't run anyway (`HTTPFields.protect`).
///
/// The server renders every state of a page. The script only fetches the page again after a change, and replaces the parts that differ.
enum PageHTML {
    static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            // Characters that change the direction of the following text would change how the page reads.
            case "\u{202A}"..."\u{202E}", "\u{2066}"..."\u{2069}", "\0"..."\u{8}", "\u{B}"..."\u{1F}", "\u{7F}":
                result += "\u{FFFD}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    // MARK: Frames

    static func document(_ title: String, base: String, script: Bool, body: String) -> String {
        """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>\(escaped(title))</title>
        <link rel="stylesheet" href="\(base)/page.css">
        <link rel="icon" href="\(base)/icon.svg">
        \(script ? "<script src=\"\(base)/page.js\" defer></script>" : "")
        </head>
        <body data-base="\(base)">
        \(body)
        </body>
        </html>

        """
    }

    static func login(_ page: QueuePage, isWrong: Bool) -> String {
        let base = escaped(page.configuration.basePath)
        let problem = isWrong ? "<p class=\"alert\" role=\"alert\">That isn't the token.</p>" : ""
        return document(
            "\(page.configuration.title): log in", base: base, script: false,
            body: """
                <main class="login">
                <h1>\(escaped(page.configuration.title))</h1>
                \(problem)
                <form method="post" action="\(base)/login">
                <label>Token <input type="password" name="token" autocomplete="current-password" required autofocus></label>
                <button>Log in</button>
                </form>
                </main>
                """)
    }

    static func problem(_ status: HTTPResponse.Status, _ message: String) -> String {
        document(
            "\(status.code) \(status.reasonPhrase)", base: "", script: false,
            body: """
                <main class="login"><h1>\(status.code) \(escaped(status.reasonPhrase))</h1><p>\(escaped(message))</p></main>
                """)
    }

    static func header(_ page: QueuePage) -> String {
        let base = escaped(page.configuration.basePath)
        let logout =
            page.configuration.token == nil
            ? "" : "<form method=\"post\" action=\"\(base)/logout\"><button>Log out</button></form>"
        return """
            <header>
            <h1><a href="\(base)/">\(escaped(page.configuration.title))</a></h1>
            <p id="live" role="status">\(page.configuration.isReadOnly ? "Read-only" : "")</p>
            \(logout)
            </header>
            """
    }

    static let dialog = """
        <dialog id="confirm" aria-labelledby="question"><form method="dialog">
        <p id="question"></p>
        <label id="priority" hidden>Priority <input name="priority" type="number" value="0"></label>
        <button value="yes">Yes</button> <button value="no" autofocus>No</button>
        </form></dialog>
        """

    /// A time in UTC, which the script shows in the reader's time zone.
    static func time(_ date: Date) -> String {
        let text = date.formatted(.iso8601)
        // Within half a day, everyone knows which day is meant.
        let isNear = abs(date.timeIntervalSinceNow) < 12 * 3600
        let short = (isNear ? String(text.drop { $0 != "T" }.dropFirst()) : text)
            .replacing("T", with: " ").replacing("Z", with: " UTC")
        return "<time datetime=\(text)>\(short)</time>"
    }
}
