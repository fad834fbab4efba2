# Needs Go, make and git; whatever else is needed is fetched or built from source.

BIN      := bin/ramaria
MODULE   := github.com/ramaria-db/ramaria
TOOLS    ?= $(CURDIR)/.tools
FUZZTIME ?= 15s

# Version and commit, as `ramaria --version` tells them; a source archive without
# git gives the fallbacks.
VERSION  ?= $(shell git describe --tags --match 'v*' --dirty 2>/dev/null || echo 0.1.0-dev)
COMMIT   ?= $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
LDFLAGS  := -s -w -X $(MODULE)/internal/cli.version=$(VERSION) -X $(MODULE)/internal/cli.commit=$(COMMIT)

GOLANGCI_VERSION := v2.15.0
GOLANGCI         := $(TOOLS)/golangci-lint-$(GOLANGCI_VERSION)

NFPM_VERSION      := v2.44.0
CYCLONEDX_VERSION := v1.10.0
NFPM              := $(TOOLS)/nfpm-$(NFPM_VERSION)
CYCLONEDX         := $(TOOLS)/cyclonedx-gomod-$(CYCLONEDX_VERSION)
GOVULNCHECK_VERSION := v1.1.4
GOVULNCHECK       := $(TOOLS)/govulncheck-$(GOVULNCHECK_VERSION)
RELEASE           ?= bin/release

# Python with Sphinx, in an environment of its own.
SITE   ?= bin/site
SPHINX := $(TOOLS)/sphinx

# The commit is put in above. Go's own stamp fails in a checkout that belongs to
# another user.
export GOFLAGS := $(GOFLAGS) -buildvcs=false

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: build
build: ## Build the static binary bin/ramaria
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/ramaria

# Each needs the tools of its language; one that is missing is said, and leaves the others alone. Those of
# another version go, so that bin/clients/ramaria-*.whl is one file.
.PHONY: clients
clients: build ## Build the clients in bin/clients: wheel, npm package, jar
	@rm -rf bin/clients
	@BIN='$(CURDIR)/$(BIN)' sh clients/build.sh bin/clients

.PHONY: release
release: $(NFPM) $(CYCLONEDX) ## Build archives, deb, rpm, checksums, SBOM and clients in bin/release; the same from the same commit
	@VERSION='$(VERSION)' LDFLAGS='$(LDFLAGS)' NFPM='$(NFPM)' CYCLONEDX='$(CYCLONEDX)' sh packaging/release/build.sh $(RELEASE)

.PHONY: image
image: release ## Build the container image bin/release/ramaria-image.tar, an OCI layout, without a daemon: mmdebstrap
	sh packaging/oci/build.sh $(RELEASE)/ramaria-image.tar $(RELEASE)/ramaria-*-linux-$$(go env GOARCH).tar.gz

.PHONY: vulncheck
vulncheck: $(GOVULNCHECK) ## Look for known vulnerabilities in what the program calls, before a release; needs the network
	@$(GOVULNCHECK) ./...

.PHONY: test-release
test-release: vulncheck ## Build a release twice, and use it in clean roots, by hand: root, mmdebstrap, python3, npm; 10 minutes
	@MAKE='$(MAKE)' NFPM='$(NFPM)' sh packaging/release/test.sh

.PHONY: demo
demo: build ## Show the main job, end to end, on a generated data set
	$(BIN) demo

.PHONY: test
test: build ## Test every behaviour once: lint, tests on real servers, leftovers (V=1 shows every test)
	@MAKE='$(MAKE)' V='$(V)' sh tests/run.sh

.PHONY: test-vm
test-vm: build ## Run services and adoption in whole virtual machines, by hand: root, qemu, mmdebstrap; 40 minutes
	go run ./tests/vm -ramaria bin/ramaria

.PHONY: test-drivers
test-drivers: build ## Run drivers' own suites at a server and through the front door, by hand: Go, PHP, Python, Rust, Java; 20 minutes
	@sh tests/drivers/run.sh

.PHONY: corpus
corpus: ## Load dumps of other people's schemas in every way, compare, and write docs/corpus.md, by hand: as root, with dpkg-deb, python3, npm, mvn; 50 minutes
	RAMARIA_TEST_CORPUS='$(or $(CORPUS),all)' go test ./tests/corpus -count=1 -run 'TestCorpus$$' -v -timeout 120m

.PHONY: test-all
test-all: build ## Test everything on every server, with long walks, kills and fuzzing
	@MAKE='$(MAKE)' ALL=1 FUZZTIME='$(FUZZTIME)' V='$(V)' sh tests/run.sh

.PHONY: test-profile
test-profile: ## Print where the time of the last make test went
	@cat bin/test-profile.txt

.PHONY: matrix
matrix: ## Print the grid of the last make test: suites and servers
	@go run ./tests/matrix

.PHONY: lint
lint: $(GOLANGCI) ## Check format, layers and style
	@go test -count=1 ./tests/layers
	$(GOLANGCI) run ./...

.PHONY: layers
layers: ## Print the packages layer by layer and check their imports (WRITE=1 writes the rules)
	@go run ./tests/layers $(if $(WRITE),-write)

.PHONY: format
format: $(GOLANGCI) ## Format the source
	$(GOLANGCI) fmt ./...

.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZTIME (15s)
	@FUZZTIME='$(FUZZTIME)' sh tests/fuzz.sh

.PHONY: bench
bench: build ## Measure this machine: the scenarios that take five minutes together
	$(BIN) bench all --quick

.PHONY: bench-examples
bench-examples: clients ## Measure the projects of docs/examples, with what isolates their tests otherwise beside it; an hour, alone
	go run ./packaging/suites $(BIN)

.PHONY: man
man: ## Generate the man pages in bin/man
	go run -ldflags '$(LDFLAGS)' ./packaging/man bin/man

.PHONY: notices
notices: ## Write THIRD_PARTY_NOTICES: the licences of what the program links
	go run ./packaging/notices -write

.PHONY: picture
picture: build ## Draw the pictures of the documentation from real runs; needs chromium, pngquant; 10 minutes
	go run ./packaging/pictures $(BIN)

.PHONY: site
site: $(SPHINX)/ready ## Render the documentation in bin/site; fails on a broken link; needs python3 with venv
	@SPHINX='$(SPHINX)/bin/sphinx-build' sh packaging/site/build.sh . '$(SITE)'

.PHONY: completions
completions: build ## Generate shell completions in bin/completions
	mkdir -p bin/completions
	$(BIN) completion bash > bin/completions/ramaria.bash
	$(BIN) completion zsh > bin/completions/_ramaria
	$(BIN) completion fish > bin/completions/ramaria.fish

.PHONY: clean
clean: ## Remove what was built, and the tools
	rm -rf bin '$(SPHINX)'
	rm -f '$(TOOLS)'/golangci-lint-v* '$(TOOLS)'/nfpm-v* '$(TOOLS)'/cyclonedx-gomod-v* '$(TOOLS)'/govulncheck-v*

# The linter comes from the Go module proxy, so that it runs wherever Go builds. The
# first build takes a minute or two.
$(GOLANGCI):
	@echo 'building golangci-lint $(GOLANGCI_VERSION) (once)'
	GOBIN='$(TOOLS)' go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv '$(TOOLS)/golangci-lint' '$@'

$(NFPM):
	@echo 'building nfpm $(NFPM_VERSION) (once)'
	GOBIN='$(TOOLS)' go install github.com/goreleaser/nfpm/v2/cmd/nfpm@$(NFPM_VERSION)
	mv '$(TOOLS)/nfpm' '$@'

$(GOVULNCHECK):
	@echo 'building govulncheck $(GOVULNCHECK_VERSION) (once)'
	GOBIN='$(TOOLS)' go install golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION)
	mv '$(TOOLS)/govulncheck' '$@'

$(CYCLONEDX):
	@echo 'building cyclonedx-gomod $(CYCLONEDX_VERSION) (once)'
	GOBIN='$(TOOLS)' go install github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@$(CYCLONEDX_VERSION)
	mv '$(TOOLS)/cyclonedx-gomod' '$@'

$(SPHINX)/ready: packaging/site/requirements.txt
	@echo 'installing Sphinx (once)'
	rm -rf '$(SPHINX)'
	python3 -m venv '$(SPHINX)'
	'$(SPHINX)/bin/pip' install --quiet --disable-pip-version-check --requirement packaging/site/requirements.txt
	touch '$@'
