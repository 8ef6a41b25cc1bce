/// Runs rows in order.
final class Runner {
    private let stage: Stage
    private var isOursFirst = true

    init(stage: Stage) {
        self.stage = stage
    }

    /// Runs a row: one warm-up round that doesn't count, and then the measured rounds.
    ///
    /// Each round times both contenders, one immediately after the other, in alternating order. So other load on the machine affects both.
    func run(_ row: Row) async -> Outcome {
        var ours: [Sample] = []
        var peers: [Sample] = []
        do {
            try await row.body(stage) { our, peer in
                for round in 0...stage.rounds {
                    let pair = try await time(row.slices, our, peer)
                    guard round > 0 else { continue }
                    ours.append(pair.ours)
                    peers.append(pair.peer)
                }
            }
        } catch RowFailure.missing(let what) {
            return .notRun(row, what)
        } catch {
            return .failed(row, "\(error)")
        }
        guard ours.count == stage.rounds else { return .failed(row, "its body ran no rounds") }
        return .measured(RowResult(row, ours: ours, peers: peers))
    }

    /// Times one round.
    private func time(
        _ slices: Int, _ our: Row.Contender, _ peer: Row.Contender
    ) async throws -> (ours: Sample, peer: Sample) {
        var ours: [Sample] = []
        var peers: [Sample] = []
        for _ in 0..<slices {
            if isOursFirst {
                ours.append(try await our())
                peers.append(try await peer())
            } else {
                peers.append(try await peer())
                ours.append(try await our())
            }
            isOursFirst.toggle()
        }
        return (median(ours), median(peers))
    }

    private func median(_ samples: [Sample]) -> Sample {
        samples.sorted { $0.seconds < $1.seconds }[samples.count / 2]
    }
}
