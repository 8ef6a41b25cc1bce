import Foundation

// Extended attributes, without the code under test. Glibc's module doesn't have these functions.

private typealias Set =
    @convention(c) (UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafeRawPointer?, Int, CInt) -> CInt
private typealias Get =
    @convention(c) (UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafeMutableRawPointer?, Int) -> Int

/// Sets an attribute of a file, or of a link itself. Returns whether that succeeded.
@discardableResult
func setAttribute(_ name: String, of url: URL, to value: Data) -> Bool {
    guard let symbol = dlsym(nil, "lsetxattr") else { return false }
    return value.withUnsafeBytes { unsafeBitCast(symbol, to: Set.self)(url.path, name, $0.baseAddress, $0.count, 0) }
        == 0
}

/// The attribute of a file, or of a link itself; nil if it has none.
func attribute(_ name: String, of url: URL) -> Data? {
    guard let symbol = dlsym(nil, "lgetxattr") else { return nil }
    var value = Data(count: 70_000)
    let count = value.withUnsafeMutableBytes {
        unsafeBitCast(symbol, to: Get.self)(url.path, name, $0.baseAddress, $0.count)
    }
    return count < 0 ? nil : value.prefix(count)
}
