/// The results of a row. `--json` writes this value.
struct RowResult: Codable, Sendable {
    /// The median, the smallest and the largest of several values.
    struct Spread: Codable, Sendable {
        var median: Double
        var least: Double
        var most: Double

        init(_ values: [Double]) {
            let sorted = values.sorted()
            median = (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
            least = sorted[0]
            most = sorted[sorted.count - 1]
        }
    }

    var row: String
    var unit: String
    var peer: String
    var ours: Spread
    var peers: Spread
    /// The ratio of ours to the peer's in each round.
    var ratio: Spread
    var figure: String?
    var isMet: Bool?
    /// Medians of the processor seconds per operation.
    var oursProcessorSeconds: Double
    var peersProcessorSeconds: Double
    /// Medians of the peak memory of child processes, in bytes.
    var oursPeakBytes: Double?
    var peersPeakBytes: Double?

    init(_ row: Row, ours: [Sample], peers: [Sample]) {
        func median(_ samples: [Sample], _ value: (Sample) -> Double) -> Double { Spread(samples.map(value)).median }
        self.row = row.name
        unit = row.unit.label
        peer = row.peer
        self.ours = Spread(ours.map(row.unit.value))
        self.peers = Spread(peers.map(row.unit.value))
        ratio = Spread(zip(ours, peers).map { row.unit.value($0) / row.unit.value($1) })
        figure = row.figure?.text(in: row.unit)
        isMet = row.figure?.isMet(ours: self.ours.median, peer: self.peers.median, ratio: ratio.median)
        oursProcessorSeconds = median(ours) { $0.processorSeconds / Double($0.operations) }
        peersProcessorSeconds = median(peers) { $0.processorSeconds / Double($0.operations) }
        if ours[0].peakBytes != nil { oursPeakBytes = median(ours) { $0.peakBytes ?? 0 } }
        if peers[0].peakBytes != nil { peersPeakBytes = median(peers) { $0.peakBytes ?? 0 } }
    }
}

/// The outcome of a row.
enum Outcome {
    case measured(RowResult)
    case notRun(Row, String)
    case failed(Row, String)
}
