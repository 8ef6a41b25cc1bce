#!/usr/bin/env python3
"""Checks the types in the benchmark rows of PostgreSQL, against the modules of a debug build with the trait (`swift build --traits
PostgreSQL`). CI doesn't run these rows, because it would have to build the release again with the trait.

    Scripts/checks/postgres-rows.py

`SLUICE_SCRATCH` names the build directory, `.build` by default.
"""
import subprocess, sys
from builds import ROOT, modules_of_build

SOURCES = ROOT / "Benchmarks/Sources/Benchmarks"
# The rows, and the files that they use.
FILES = [path for pattern in ["Rows/Postgres/*", "Rows/Downloads/StoreRows*", "Harness/*", "External/Children*", "External/Programs*",
                              "External/Stage*"] for path in sorted(SOURCES.glob(pattern))]
# Those of Benchmarks/Package.swift.
FEATURES = ["NonisolatedNonsendingByDefault", "InferIsolatedConformances", "ExistentialAny", "InternalImportsByDefault",
            "MemberImportVisibility"]

sys.exit(subprocess.run(["swiftc", "-typecheck", "-parse-as-library", "-swift-version", "6",
                         *(word for feature in FEATURES for word in ("-enable-upcoming-feature", feature)), *modules_of_build(),
                         *map(str, FILES)]).returncode)
