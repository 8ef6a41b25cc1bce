import SluiceCommands
import Testing

@Suite struct `sluice demo's images` {
    @Test func `are read through the cache from the network, from memory and from disk`() async {
        let console = RecordedConsole()
        let status = await SluiceProgram.run(["demo", "-j", "32", "--progress", "none"], console: console.console)
        #expect(status == .success)
        let line = """
            Images   60 for 120 callers: 60 from the network, 60 from memory, 60 from disk

            """
        #expect(console.output.hasSuffix(line))
    }
}
