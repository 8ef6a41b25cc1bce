import Testing

@testable import SluiceCommands

@Suite struct `List files` {
    @Test func `a list is URLs with indented options`() {
        let list = GetList(
            "# mine\nhttps://a.example/1\n  out=one.mp3\n\tdir=music \n\nhttps://a.example/2?x=1#y\r\n",
            name: "list.txt")
        #expect(list.problems == [])
        #expect(
            list.entries == [
                .init(url: "https://a.example/1", name: "one.mp3", directory: "music", place: "list.txt:2"),
                .init(url: "https://a.example/2?x=1#y", name: nil, directory: nil, place: "list.txt:6"),
            ])
    }

    @Test(arguments: [
        ("  out=x\n", "list:1: The indented option has no URL"),
        ("http://a\n  nonsense\n", "list:2: 'nonsense' isn't an option"),
        ("http://a\n  color=red\n", "list:2: The option 'color' is unknown"),
    ])
    func `what is wrong is named with its line`(text: String, problem: String) {
        let problems = GetList(text, name: "list").problems
        #expect(problems.count == 1)
        #expect(problems[0].hasPrefix(problem))
    }

    @Test func `a byte order mark is skipped`() {
        #expect(GetList("\u{FEFF}http://a.example/x\n", name: "l").entries.map(\.url) == ["http://a.example/x"])
    }

    @Test func `an empty text lists nothing`() {
        #expect(GetList("", name: "x").entries.isEmpty)
        #expect(GetList("\n\n#\n", name: "x").entries.isEmpty)
    }
}

@Suite struct `Numbers for people` {
    @Test(
        arguments: [
            (0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (1049, "1.0 kB"), (999_949, "999.9 kB"), (999_950, "1.0 MB"),
            (64_000_000, "64.0 MB"), (1_234_567_890, "1.2 GB"), (Int64.max, "9.2 EB"),
        ] as [(Int64, String)])
    func `bytes have one decimal and a unit`(count: Int64, text: String) {
        #expect(Format.bytes(count) == text)
    }

    @Test(
        arguments: [
            (.zero, "0:00"), (.seconds(7.9), "0:07"), (.seconds(754), "12:34"), (.seconds(3723), "1:02:03"),
            (.seconds(-5), "0:00"),
        ] as [(Duration, String)])
    func `a time is a clock's`(duration: Duration, text: String) {
        #expect(Format.clock(duration) == text)
    }

    @Test func `a rate that makes no sense is shown all the same`() {
        #expect(Format.rate(-1) == "0 B/s")
        #expect(Format.rate(.infinity) == "1.0 EB/s")
    }

    @Test func `the exit status of a mixed run is the most urgent one`() {
        #expect(ExitStatus.worst(of: []) == .success)
        #expect(ExitStatus.worst(of: [.network, .http]) == .http)
        #expect(ExitStatus.worst(of: [.network, .http, .tls, .authentication, .content, .localFile, .store]) == .store)
        #expect(ExitStatus.worst(of: [.other, .network]) == .network)
    }
}
