// What the samples of internal doc comments take for granted. Nothing here runs.
@testable import SluiceObservation
