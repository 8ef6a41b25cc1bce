// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Darwin structures with the same name as a function. Swift allows that only if they are in two modules.
public struct __sigaction_u {
    public var __sa_handler: (@convention(c) (Int32) -> Void)!
}

public struct sigaction {
    public var __sigaction_u: __sigaction_u

    public init() { fatalError() }
}
