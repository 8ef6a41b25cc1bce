// What the samples in doc comments of declarations that are not public take for granted.
import FoundationEssentials
import GRDB
@testable import SluiceDatabase

let url = URL(filePath: "/")
let queueSchema = DatabaseSchema(application: 0, migrations: [])
