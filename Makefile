# `make demo` and `make test` need only the Swift toolchain. They install the missing system packages (see
# Scripts/install-system-packages.sh, which uses sudo if necessary), build and run. See `make help`.

PREFIX ?= /usr/local
DESTDIR ?=
installed = $(DESTDIR)$(PREFIX)

.PHONY: help demo test packages install deb uninstall

help:
	@echo 'make demo              downloads 300 files from a server on this machine, compares every byte, and shows the speed'
	@echo 'make test              builds and runs all tests; with TRAITS=PostgreSQL also those of the queue on PostgreSQL'
	@echo 'make install           builds the program for release and installs it, with completions, below PREFIX ($(PREFIX))'
	@echo 'make deb               builds the program for release, as a Debian package for the release of Debian on which it runs'
	@echo 'make uninstall         removes the installed files'

packages:
	@Scripts/install-system-packages.sh --build

# A debug build, because it is ready sooner.
demo: packages
	swift run sluice demo

test: packages
	swift test $(if $(TRAITS),--traits $(TRAITS)) $(if $(SLUICE_TEST_FILTER),--filter "$$SLUICE_TEST_FILTER") \
	    $(if $(SLUICE_TEST_EVENTS),--event-stream-version 0 --event-stream-output-path '$(SLUICE_TEST_EVENTS)')

install: packages
	swift build -c release --product sluice --static-swift-stdlib --scratch-path .build-install
	install -d '$(installed)/bin' '$(installed)/share/doc/sluice' '$(installed)/share/bash-completion/completions' \
	    '$(installed)/share/zsh/site-functions' '$(installed)/share/fish/vendor_completions.d' \
	    '$(installed)/share/man/man1'
	install -s -m 755 .build-install/release/sluice '$(installed)/bin/sluice'
	.build-install/release/sluice --generate-completion-script bash > '$(installed)/share/bash-completion/completions/sluice'
	.build-install/release/sluice --generate-completion-script zsh > '$(installed)/share/zsh/site-functions/_sluice'
	.build-install/release/sluice --generate-completion-script fish > '$(installed)/share/fish/vendor_completions.d/sluice.fish'
	install -m 644 docs/sluice.1 '$(installed)/share/man/man1/sluice.1'
	install -m 644 docs/runtime-packages.md '$(installed)/share/doc/sluice/runtime-packages.md'

deb: packages
	swift build -c release --static-swift-stdlib --product sluice --scratch-path .build-install
	SLUICE_SCRATCH=.build-install Scripts/package-deb.sh

uninstall:
	rm -f '$(installed)/bin/sluice' '$(installed)/share/bash-completion/completions/sluice' \
	    '$(installed)/share/zsh/site-functions/_sluice' '$(installed)/share/fish/vendor_completions.d/sluice.fish' \
	    '$(installed)/share/man/man1/sluice.1' '$(installed)/share/doc/sluice/runtime-packages.md'
