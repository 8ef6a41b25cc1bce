#pragma once

// Folders and names relative to them.
