// What the samples of doc comments in Sources/SluiceCommands/Terminal take for granted.
let text = ""
