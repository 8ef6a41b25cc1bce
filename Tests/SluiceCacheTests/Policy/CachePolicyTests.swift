import Foundation
import SluiceHTTP
import Testing

@testable import SluiceCache

@Suite struct `The policy of a private cache` {
    private static let cases = [
        storingCases, freshnessCases, reuseCases, variantCases, validationCases, invalidationCases, rangeCases,
    ].flatMap { PolicyCase.all(in: $0) }

    @Test(arguments: cases)
    func `decides as its RFC says`(test: PolicyCase) {
        let problem = PolicyScenario.problem(of: test)
        #expect(problem == nil, "\(test): \(problem ?? "")")
    }

    @Test func `has a case for each rule, which fails without the rule`() {
        let sound = Self.cases.filter { PolicyScenario.problem(of: $0) == nil }
        for rule in CacheRule.allCases {
            let rules = CacheRules.all.without(rule)
            #expect(sound.contains { PolicyScenario.problem(of: $0, rules: rules) != nil }, "no case needs \(rule)")
        }
    }

    /// Scripts/checks/caching-proxy-cases.py runs the same cases through a proxy.
    private static let export = ProcessInfo.processInfo.environment["SLUICE_POLICY_CASES"].map { URL(filePath: $0) }

    @Test(.enabled(if: export != nil)) func `has cases that other programs can read`() throws {
        let file = try #require(Self.export)
        try JSONEncoder().encode(Self.cases).write(to: file)
        let read = try JSONDecoder().decode([PolicyCase].self, from: Data(contentsOf: file))
        #expect(read.map(\.description) == Self.cases.map(\.description))
        for test in read {
            let problem = PolicyScenario.problem(of: test)
            #expect(problem == nil, "\(test): \(problem ?? "")")
        }
    }

    @Test func `is tested section by section`() {
        #expect(Self.cases.count >= 200)
        #expect(Set(Self.cases.map(\.description)).count == Self.cases.count, "two cases have the same claim")
        let sections = Set(Self.cases.map(\.section))
        for section in [
            "3", "3.1", "3.2", "3.3", "3.4", "4", "4.1", "4.2.1", "4.2.2", "4.2.3", "4.2.4", "4.3.1",
            "4.3.2", "4.3.3", "4.3.4", "4.3.5", "4.4", "5.1", "5.3", "5.4",
        ] {
            #expect(sections.contains(section), "no case is about section \(section)")
        }
    }
}
