// What the samples of all doc comments take for granted. Nothing here runs.
import Foundation
import NativeMark
import NativeMarkCairo
