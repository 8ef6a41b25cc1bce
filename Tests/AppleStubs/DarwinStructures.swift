// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Structures of Darwin that have the name of a function, which Swift allows only in two modules.
public struct __sigaction_u {
    public var __sa_handler: (@convention(c) (Int32) -> Void)!
}

public struct sigaction {
    public var __sigaction_u: __sigaction_u

    public init() { fatalError() }
}
