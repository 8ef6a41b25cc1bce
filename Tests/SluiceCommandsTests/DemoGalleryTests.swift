import SluiceCommands
import Testing

@Suite struct `sluice demo's pictures` {
    @Test func `are read through the cache from the network, from memory and from disk`() async {
        let console = RecordedConsole()
        let status = await SluiceProgram.run(["demo", "-j", "32", "--progress", "none"], console: console.console)
        #expect(status == .success)
        let line = """
            Pictures 60 read through the cache: 60 from the network for 120 callers, 60 from memory, 60 from disk

            """
        #expect(console.output.hasSuffix(line))
    }
}
