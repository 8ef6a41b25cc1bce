// What the samples of doc comments in Sources/SluiceConcurrency/Work/SingleFlight.swift take for granted.
import FoundationEssentials
import SluiceConcurrency

let flights = SingleFlight<URL, Image>()
