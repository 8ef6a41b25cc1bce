import Foundation
import SluiceDownloads
import Testing

@Suite struct `Hosts in a store` {
    private static let unreachable = HostReport.unreachable(limit: 2, pause: .seconds(30))

    private static func settle(
        _ fixture: StoreFixture, _ job: ClaimedJob, _ outcome: JobSettlement.Outcome, _ report: HostReport
    ) async throws {
        _ = try await fixture.exchange([JobSettlement(lease: job.lease, outcome: outcome, host: report)])
    }

    @Test(arguments: StoreKind.allCases)
    func `a busy host is left alone until its time is over, and the others are not`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            for name in ["a1", "a2", "a3"] { try await fixture.add(name, host: "a.example") }
            try await fixture.add("b", host: "b.example")
            let first = try await fixture.claim()[0]
            try await Self.settle(fixture, first, .retry(after: .seconds(1), message: "busy"), .busy(for: .seconds(5)))
            let exchange = try await fixture.exchange(claiming: 9)
            #expect(exchange.claimed.map(\.request.name) == ["b"])
            let host = try await fixture.store.snapshot(listing: 0).hosts
            #expect(host.map(\.name) == ["a.example"] && host[0].isUnreachable == false)
            #expect(host[0].notBefore.timeIntervalSince1970 == Double(fixture.time.milliseconds + 5000) / 1000)
            try await fixture.settle(exchange.claimed[0], .done(bytes: 1))
            // The job's own delay ends first, and then that of its host.
            #expect(try await fixture.exchange(claiming: 9).nextDue == .seconds(1))
            fixture.time.advance(by: .seconds(1))
            #expect(try await fixture.exchange(claiming: 9) == JobExchange(nextDue: .seconds(4)))
            fixture.time.advance(by: .seconds(4))
            #expect(try await fixture.claimNames(9) == ["a1", "a2", "a3"])
            #expect(try await fixture.store.snapshot(listing: 0).hosts == [])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `the later of two times counts`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            for name in ["1", "2", "3"] { try await fixture.add(name) }
            let claimed = try await fixture.claim(2)
            try await Self.settle(fixture, claimed[0], .failed(message: "busy"), .busy(for: .seconds(9)))
            try await Self.settle(fixture, claimed[1], .failed(message: "busy"), .busy(for: .seconds(3)))
            fixture.time.advance(by: .seconds(8))
            #expect(try await fixture.claimNames() == [])
            fixture.time.advance(by: .seconds(1))
            #expect(try await fixture.claimNames() == ["3"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a circuit opens after failures in succession, lets one job try, and closes when it reaches the host`(
        _ kind: StoreKind
    ) async throws {
        try await StoreFixture.with(kind) { fixture in
            for index in 0..<8 { try await fixture.add("\(index)") }
            let claimed = try await fixture.claim(4)
            try await Self.settle(fixture, claimed[0], .failed(message: "refused"), Self.unreachable)
            try await Self.settle(fixture, claimed[1], .done(bytes: 1), .reached)
            try await Self.settle(fixture, claimed[2], .failed(message: "refused"), Self.unreachable)
            #expect(try await fixture.store.snapshot(listing: 0).hosts == [])
            try await Self.settle(fixture, claimed[3], .failed(message: "refused"), Self.unreachable)
            #expect(try await fixture.store.snapshot(listing: 0).hosts.map(\.isUnreachable) == [true])
            #expect(try await fixture.claimNames(9) == [])
            fixture.time.advance(by: .seconds(30))
            let probe = try await fixture.claim(9)
            #expect(probe.map(\.request.name) == ["4"])
            #expect(try await fixture.claimNames(9) == [])
            try await Self.settle(fixture, probe[0], .retry(after: .zero, message: "refused"), Self.unreachable)
            #expect(try await fixture.claimNames(9) == [])
            fixture.time.advance(by: .seconds(30))
            let second = try await fixture.claim(9)
            #expect(second.map(\.request.name) == ["4"])
            try await Self.settle(fixture, second[0], .done(bytes: 1), .reached)
            #expect(try await fixture.claimNames(9) == ["5", "6", "7"])
            #expect(try await fixture.store.snapshot(listing: 0).hosts == [])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `what a lost worker found out about a host counts`(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            for name in ["1", "2"] { try await fixture.add(name) }
            let lost = try await fixture.claim(lease: .seconds(1))[0]
            fixture.time.advance(by: .seconds(2))
            #expect(try await fixture.claimNames(1) == ["1"])
            let exchange = try await fixture.exchange(
                [JobSettlement(lease: lost.lease, outcome: .done(bytes: 1), host: .busy(for: .seconds(5)))], claiming: 9
            )
            #expect(exchange.refused == [lost.lease] && exchange.claimed == [])
        }
    }
}
