// What the samples of doc comments in Digests take for granted.
import FoundationEssentials

let (header, body) = (Data(), Data())
