// What the samples of all doc comments take for granted. Nothing here runs.
import SluiceObservation
