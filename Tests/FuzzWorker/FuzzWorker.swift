import Foundation
import FuzzTargets

/// Runs inputs through a parser (`FuzzTarget`), which `SLUICE_FUZZ_TARGET` names.
///
/// In the build of Scripts/checks/fuzz.py (`-D SLUICE_FUZZING -sanitize=fuzzer`), it is libFuzzer's program, with libFuzzer's arguments.
/// Otherwise, the arguments are the files with the inputs.
@main
struct FuzzWorker {
    static func main() throws {
        #if SLUICE_FUZZING
        var count = CommandLine.argc
        var arguments = CommandLine.unsafeArgv
        exit(runDriver(&count, &arguments, runInput))
        #elseif DEBUG
        for path in CommandLine.arguments.dropFirst() { target.run(Array(try Data(contentsOf: URL(filePath: path)))) }
        #endif
    }
}

#if DEBUG
private let target: FuzzTarget = {
    let name = ProcessInfo.processInfo.environment["SLUICE_FUZZ_TARGET"] ?? ""
    guard let target = FuzzTarget(rawValue: name) else {
        let names = FuzzTarget.allCases.map(\.rawValue).joined(separator: ", ")
        FileHandle.standardError.write(Data("SLUICE_FUZZ_TARGET must be one of \(names).\n".utf8))
        exit(2)
    }
    return target
}()
#endif

#if SLUICE_FUZZING
/// What libFuzzer calls for each input. See https://llvm.org/docs/LibFuzzer.html.
@_cdecl("LLVMFuzzerTestOneInput")
func runInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    target.run(Array(UnsafeBufferPointer(start: start, count: count)))
    return 0
}

/// libFuzzer's own main function.
@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ run: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt
#endif
