import Foundation

/// 240,000 bytes of "hello world\n".
public let gzipOfHelloWorlds = [UInt8](
    Data(
        base64Encoded: "H4sIAAAAAAACA+3GsQkAIBAEsN4pHE7hi4MHG9d3BvukSu2k5+2TNcrd"
            + String(repeating: "3d3d", count: 154)
            + "3f3zD/m4ob2AqQMA")
        ?? Data())

/// A zstd frame (RFC 8878) of run-length blocks.
public func zstdOfZeros(megabytes: Int) -> [UInt8] {
    // The magic number, a descriptor without optional fields, and a window of 128 KiB.
    var frame: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x38]
    let count = megabytes * 8
    for index in 0..<count {
        let header = UInt32(128 << 10) << 3 | 1 << 1 | (index == count - 1 ? 1 : 0)
        frame += [UInt8(header & 0xFF), UInt8(header >> 8 & 0xFF), UInt8(header >> 16 & 0xFF), 0]
    }
    return frame
}
