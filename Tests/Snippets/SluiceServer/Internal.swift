// What the samples in doc comments of declarations that are not public take for granted.
import Foundation
import HTTPTypes
@testable import SluiceServer
