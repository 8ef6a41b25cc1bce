import NativeMark
import Testing

@Suite struct `Snapshots of a terminal` {
    static let markdown = """
        # Größe, 文章 and 👩‍👩‍👧

        A *paragraph* with **strong** words, `code`, ~~struck~~ text and a [link](https://example.com/path), long
        enough to wrap. 日本語の文章は、単語の間に空白がない。「引用」も折り返す。 Cafe\u{301} nai\u{308}ve 👨‍👩‍👧‍👦 🇯🇵 ❤\u{FE0F}

        > A quote with a list:
        >
        > 1. first item, which goes on for more than one line of a narrow terminal
        > 2. second
        >    - [x] done
        >    - [ ] open

        ```swift
        let message = "a line of code that is rather long, and is cut where the terminal ends, at eighty columns"
        \tindented
        ```

        | Name | 大きさ | Note |
        |:-----|:------:|-----:|
        | Café | 十二 | a longer note that has to wrap somewhere |
        | 👍🏽 | 3 | *short* |

        - a

        - b[^1]

          ![a drawing](drawings/one.png)

        ---

        Last line.

        [^1]: A footnote.
        """

    @Test(arguments: [20, 40, 80, 120])
    func `are unchanged at each width`(_ width: Int) throws {
        let output = TerminalRenderer(width: width).render(Document(Self.markdown))

        let expected = try #require(Self.snapshots[width])
        #expect(output == expected)
        #expect(output.split(separator: "\n").allSatisfy { TerminalText.width(of: $0) <= width })
    }
}

extension `Snapshots of a terminal` {
    /// What a person has read through: widths, hanging indents, bars, columns of the table.
    static let snapshots: [Int: String] = [
        20: """
        Größe, 文章 and 👩‍👩‍👧
        ══════════════════

        A paragraph with
        strong words, code,
        ~~struck~~ text and
        a link
        <https://example.com
        /path>, long enough
        to wrap. 日本語の文
        章は、単語の間に空白
        がない。「引用」も折
        り返す。 Café naïve
        👨‍👩‍👧‍👦 🇯🇵 ❤️

        │ A quote with a
        │ list:
        │
        │ 1. first item,
        │    which goes on
        │    for more than
        │    one line of a
        │    narrow terminal
        │ 2. second
        │    ☑ done
        │    ☐ open

         let message = "a …
             indented

        Name: Café
        大きさ: 十二
        Note: a longer note
        that has to wrap
        somewhere
        ──────────
        Name: 👍🏽
        大きさ: 3
        Note: short

        • a

        • b¹

          a drawing
          <drawings/one.png>

        ────────────────────

        Last line.

        ────────────────────
        1. A footnote.
        """,
        40: """
        Größe, 文章 and 👩‍👩‍👧
        ══════════════════

        A paragraph with strong words, code,
        ~~struck~~ text and a link
        <https://example.com/path>, long enough
        to wrap. 日本語の文章は、単語の間に空白
        がない。「引用」も折り返す。 Café naïve
        👨‍👩‍👧‍👦 🇯🇵 ❤️

        │ A quote with a list:
        │
        │ 1. first item, which goes on for more
        │    than one line of a narrow terminal
        │ 2. second
        │    ☑ done
        │    ☐ open

         let message = "a line of code that is…
             indented

        ┌──────┬────────┬──────────────────────┐
        │ Name │ 大きさ │                 Note │
        ├──────┼────────┼──────────────────────┤
        │ Café │  十二  │   a longer note that │
        │      │        │          has to wrap │
        │      │        │            somewhere │
        │ 👍🏽   │   3    │                short │
        └──────┴────────┴──────────────────────┘

        • a

        • b¹

          a drawing <drawings/one.png>

        ────────────────────────────────────────

        Last line.

        ────────────────────────────────────────
        1. A footnote.
        """,
        80: """
        Größe, 文章 and 👩‍👩‍👧
        ══════════════════

        A paragraph with strong words, code, ~~struck~~ text and a link
        <https://example.com/path>, long enough to wrap. 日本語の文章は、単語の間に空白
        がない。「引用」も折り返す。 Café naïve 👨‍👩‍👧‍👦 🇯🇵 ❤️

        │ A quote with a list:
        │
        │ 1. first item, which goes on for more than one line of a narrow terminal
        │ 2. second
        │    ☑ done
        │    ☐ open

         let message = "a line of code that is rather long, and is cut where the termi…
             indented

        ┌──────┬────────┬──────────────────────────────────────────┐
        │ Name │ 大きさ │                                     Note │
        ├──────┼────────┼──────────────────────────────────────────┤
        │ Café │  十二  │ a longer note that has to wrap somewhere │
        │ 👍🏽   │   3    │                                    short │
        └──────┴────────┴──────────────────────────────────────────┘

        • a

        • b¹

          a drawing <drawings/one.png>

        ────────────────────────────────────────────────────────────────────────────────

        Last line.

        ────────────────────────────────────────────────────────────────────────────────
        1. A footnote.
        """,
        120: """
        Größe, 文章 and 👩‍👩‍👧
        ══════════════════

        A paragraph with strong words, code, ~~struck~~ text and a link <https://example.com/path>, long enough to wrap. 日本語
        の文章は、単語の間に空白がない。「引用」も折り返す。 Café naïve 👨‍👩‍👧‍👦 🇯🇵 ❤️

        │ A quote with a list:
        │
        │ 1. first item, which goes on for more than one line of a narrow terminal
        │ 2. second
        │    ☑ done
        │    ☐ open

         let message = "a line of code that is rather long, and is cut where the terminal ends, at eighty columns"
             indented

        ┌──────┬────────┬──────────────────────────────────────────┐
        │ Name │ 大きさ │                                     Note │
        ├──────┼────────┼──────────────────────────────────────────┤
        │ Café │  十二  │ a longer note that has to wrap somewhere │
        │ 👍🏽   │   3    │                                    short │
        └──────┴────────┴──────────────────────────────────────────┘

        • a

        • b¹

          a drawing <drawings/one.png>

        ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

        Last line.

        ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
        1. A footnote.
        """,
    ]
}
