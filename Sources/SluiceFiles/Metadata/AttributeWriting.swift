/// What writing an extended attribute does about one that is there, or is not.
public enum AttributeWriting: Sendable, Hashable {
    /// It is made, or gets the new value.
    case createOrReplace
    /// It is made; ``FileError/Code/exists`` if it is there, atomically.
    case create
    /// It gets the new value; ``FileError/Code/noAttribute`` if it is not there, atomically.
    case replace
}
