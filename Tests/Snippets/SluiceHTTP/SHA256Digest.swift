// What the samples of doc comments of SHA256Digest take for granted.
import FoundationEssentials

let (header, body) = (Data(), Data())
