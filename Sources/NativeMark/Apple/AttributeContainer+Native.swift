// Type-checked against stub modules by Scripts/checks/apple.py. No test runs this code.
#if canImport(Darwin)
import Foundation

extension AttributeContainer {
    mutating func addNative(_ run: StyledText.Run, in text: StyledText, intents: inout [Int: PresentationIntent]) {
        typealias Keys = AttributeScopes.FoundationAttributes
        self[Keys.PresentationIntentAttribute.self] = PresentationIntent(ofBlock: run.block, in: text, known: &intents)
        let intent = InlinePresentationIntent(text.traits(of: run))
        if !intent.isEmpty { self[Keys.InlinePresentationIntentAttribute.self] = intent }
        if let link = run.link { self[Keys.LinkAttribute.self] = text.links[link].url() }
        #if canImport(SwiftUI)
        addSwiftUI(run.style)
        #endif
    }
}

extension InlinePresentationIntent {
    fileprivate init(_ traits: StyledText.Traits) {
        self = []
        if traits.contains(.emphasis) { insert(.emphasized) }
        if traits.contains(.strong) { insert(.stronglyEmphasized) }
        if traits.contains(.code) { insert(.code) }
        if traits.contains(.strikethrough) { insert(.strikethrough) }
        if traits.contains(.lineBreak) { insert(.lineBreak) }
    }
}
#endif
