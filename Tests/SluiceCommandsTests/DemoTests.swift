import SluiceCommands
import Testing

@Suite struct `sluice demo` {
    @Test func `downloads everything and compares every byte`() async {
        let console = RecordedConsole()
        let status = await SluiceProgram.run(["demo", "-j", "32", "--progress", "none"], console: console.console)
        #expect(status == .success, "\(console.error)")
        #expect(console.output.contains("300 of 300 downloaded, 300 identical"))
        #expect(console.output.contains("Retries  30 "))
    }

    @Test func `detects a single corrupt byte`() async {
        let console = RecordedConsole()
        let arguments = ["demo", "-j", "32", "--progress", "none", "--corrupt", "41"]
        #expect(await SluiceProgram.run(arguments, console: console.console) == .content)
        #expect(console.output.contains("299 identical"))
        #expect(console.error.contains("song-042.wav differs from the server's file"))
    }
}

@Suite struct `sluice demo's images` {
    @Test func `images are read through the cache from the network, from memory and from disk`() async {
        let console = RecordedConsole()
        let status = await SluiceProgram.run(["demo", "-j", "32", "--progress", "none"], console: console.console)
        #expect(status == .success)
        let line = """
            Images   60 for 120 callers: 60 from the network, 60 from memory, 60 from disk

            """
        #expect(console.output.hasSuffix(line))
    }
}
