// What the sample of RunningChecksum takes for granted.
import FoundationEssentials

let chunk = Data()
