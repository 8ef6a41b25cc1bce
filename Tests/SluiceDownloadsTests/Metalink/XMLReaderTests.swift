import Foundation
import TestSupport
import Testing

@testable import SluiceDownloads

@Suite struct `Reading XML` {
    /// The events as text, such as `<a x=1>`, `text`, `</>`. Adjacent texts are joined.
    static func events(_ document: [UInt8]) throws(XMLReader.Failure) -> String {
        var reader = try XMLReader(document)
        var result = ""
        while let event = try reader.next() {
            switch event {
            case .start(let element):
                let space = element.name.namespace.isEmpty ? "" : "{\(element.name.namespace)}"
                let attributes = element.attributes.map { name, value in
                    " " + (name.namespace.isEmpty ? "" : "{\(name.namespace)}") + "\(name.local)=\(value)"
                }
                result += "<\(space)\(element.name.local)\(attributes.sorted().joined())>"
            case .text(let text): result += text
            case .end: result += "</>"
            }
        }
        return result
    }

    static func problem(_ document: [UInt8]) -> XMLReader.Failure? {
        do throws(XMLReader.Failure) {
            _ = try events(document)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [
        ("<a/>", "<a></>"), ("<a></a>", "<a></>"), (" <a />\n", "<a></>"), ("\u{FEFF}<a>x</a>", "<a>x</>"),
        ("<?xml version=\"1.0\"?><a/>", "<a></>"),
        ("<?xml version='1.0' encoding='utf-8' standalone=\"yes\" ?>\n<!-- c - c --><a/><!----><?p x?>", "<a></>"),
        ("<a b='1' c = \"2\"><d/>x<e>y</e></a >", "<a b=1 c=2><d></>x<e>y</></>"),
        ("<a>&lt;&gt;&amp;&quot;&apos;&#65;&#x42;&#x1F600;</a>", "<a><>&\"'AB😀</>"),
        ("<a b='&lt;&#10;&quot; \n\t\r\n>'/>", "<a b=<\n\"    >></>"),
        ("<a>1\r\n2\r3\n</a>", "<a>1\n2\n3\n</>"), ("<a><![CDATA[<b>&x;]]]]></a>", "<a><b>&x;]]</>"),
        ("<a><![CDATA[1\r\n2\r3]]></a>", "<a>1\n2\n3</>"), ("<é-1.2_>ü</é-1.2_>", "<é-1.2_>ü</>"),
        ("<a xmlns='u'><b/><c xmlns=''/></a>", "<{u}a><{u}b></><c></></>"),
        (
            "<p:a xmlns:p='u' p:x='1' x='2'><b/><p:c xmlns:p='v'/><p:d/></p:a>",
            "<{u}a x=2 {u}x=1><b></><{v}c></><{u}d></></>"
        ),
        ("<a xml:lang='en'/>", "<a {http://www.w3.org/XML/1998/namespace}lang=en></>"),
        ("<a>&#38;amp;</a>", "<a>&amp;</>"),
    ])
    func `a document is read as its events`(document: String, expected: String) throws {
        #expect(try Self.events(Array(document.utf8)) == expected)
        // What is cut off is an error, unless only blanks, comments and the like follow.
        let bytes = Array(document.utf8)
        for end in bytes.indices {
            if let events = try? Self.events(Array(bytes[..<end])) { #expect(events == expected) }
        }
    }

    @Test(arguments: [
        ("", "no element"), (" ", "no element"), ("x", "text outside"), ("<a/>x", "text outside"),
        ("<a/><b/>", "second element"), ("<a>", "ends within an element"), ("<a", "ends within a tag"),
        ("<a></b>", "without its start tag"), ("</a>", "without its start tag"), ("<a></a", "without >"),
        ("<a b></a>", "without a value"), ("<a b=1/>", "in quotes"), ("<a b='1/>", "in quotes"),
        ("<a b='1'c='2'/>", "without a blank"), ("<a b='1' b='2'/>", "twice"),
        ("<a xmlns:p='u' xmlns:q='u' p:b='1' q:b='2'/>", "twice"), ("<a b='<'/>", "a < in an attribute"),
        ("<1/>", "name that isn't valid"), ("< a/>", "name that isn't valid"), ("<a:b:c/>", "name that isn't valid"),
        ("<:a/>", "name that isn't valid"), ("<a:/>", "name that isn't valid"), ("<p:a/>", "without its namespace"),
        ("<a xmlns:p=''/>", "namespace that isn't valid"), ("<a xmlns:xmlns='u'/>", "namespace that isn't valid"),
        ("<a xmlns:xml='u'/>", "namespace that isn't valid"), ("<a>&x;</a>", "entity"), ("<a>&</a>", "entity"),
        ("<a>&#0;</a>", "entity"), ("<a>&#xD800;</a>", "entity"), ("<a>&#x110000;</a>", "entity"),
        ("<a>&#+65;</a>", "entity"), ("<a>&#xFFFF;</a>", "entity"), ("<a>&#8;</a>", "entity"), ("<a>&#;</a>", "entity"),
        ("<a>]]></a>", "]]>"), ("<a><![CDATA[</a>", "CDATA"), ("<![CDATA[x]]><a/>", "text outside"),
        ("<a><!-- -- --></a>", "-- within"), ("<!-- <a/>", "comment without an end"),
        ("<? <a/>", "processing instruction"), ("<!DOCTYPE a><a/>", "document type"),
        ("<!DOCTYPE a [<!ENTITY b \"bb\"><!ENTITY c \"&b;&b;\">]><a>&c;</a>", "document type"),
        ("<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a/>", "document type"),
        ("<!DOCTYPE a [<!ENTITY b SYSTEM \"http://127.0.0.1/\">]><a>&b;</a>", "document type"),
        ("<a><!ENTITY b 'c'></a>", "document type"),
        ("<?xml version='1.0' encoding='ISO-8859-1'?><a/>", "encoding 'ISO-8859-1'"),
        ("<?xml version='1.0' encoding='UTF-16'?><a/>", "encoding"), ("<?xml version='2.0'?><a/>", "XML declaration"),
        ("<?xml encoding='utf-8'?><a/>", "XML declaration"), ("<?xml version='1.0'", "name that isn't valid"),
        ("<?xml version='1.0' version='1.0'?><a/>", "XML declaration"), ("<a>\u{8}</a>", "control character"),
        ("<a>\u{0}</a>", "UTF-8"), ("<abc>\u{0}</abc>", "control character"), ("<a>\u{FFFF}</a>", "control character"),
    ])
    func `what isn't well-formed is an error`(document: String, expected: String) throws {
        let failure = try #require(Self.problem(Array(document.utf8)))
        #expect(failure.problem.contains(expected), "\(failure)")
    }

    @Test func `other encodings are errors`() {
        let text = "<?xml version='1.0'?><a/>"
        for encoding in [String.Encoding.utf16, .utf16BigEndian, .utf16LittleEndian, .utf32, .utf32LittleEndian] {
            #expect(Self.problem(Array(text.data(using: encoding)!))?.problem.contains("UTF-8") == true, "\(encoding)")
        }
        for invalid: [UInt8] in [[0xE9], [0xC0, 0xBC], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80], [0x80], [0xC3]] {
            #expect(Self.problem(Array("<a>".utf8) + invalid + Array("</a>".utf8))?.problem.contains("UTF-8") == true)
        }
    }

    @Test func `an error has the number of its line`() throws {
        #expect(Self.problem(Array("<a>\n\n<b>\n</a>".utf8))?.line == 4)
        #expect(Self.problem(Array("<a>\n\u{1}</a>".utf8))?.line == 2)
    }

    @Test func `depth, attributes and names are limited`() throws {
        func nested(_ depth: Int) -> [UInt8] {
            Array((String(repeating: "<a>", count: depth) + String(repeating: "</a>", count: depth)).utf8)
        }
        #expect(Self.problem(nested(32)) == nil)
        #expect(Self.problem(nested(33))?.problem.contains("32 levels") == true)
        #expect(Self.problem(nested(1_000_000))?.problem.contains("32 levels") == true)
        func attributes(_ count: Int) -> [UInt8] {
            Array("<a \((0..<count).map { "b\($0)='1'" }.joined(separator: " "))/>".utf8)
        }
        #expect(Self.problem(attributes(64)) == nil)
        #expect(Self.problem(attributes(65))?.problem.contains("64 attributes") == true)
        let long = String(repeating: "a", count: 200)
        #expect(Self.problem(Array("<\(long)/>".utf8)) == nil)
        #expect(Self.problem(Array("<\(long)a/>".utf8))?.problem.contains("name") == true)
    }
}
