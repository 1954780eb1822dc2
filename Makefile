# Berth's commands. `make help` lists them. The two that matter: `make serve`
# and `make test`; they need Go and install PostgreSQL's binaries when there are
# none, everything else Go fetches by itself.

GO      ?= go
TOOL    := $(GO) tool -modfile=tools/go.mod
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null)
# What `make generate` writes and `make verify` compares.
GENERATED := gen openapi sql/schema.sql sql/functions/VERSION

.DEFAULT_GOAL := help
.PHONY: help build test lint lint-sql generate verify bench bench-candidates bench-baremetal bench-hotspots endurance db psql run serve plans postgresql

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/berth with its version in it
	$(GO) build -trimpath -ldflags '-X main.version=$(VERSION)' -o bin/berth ./cmd/berth

test: postgresql ## run every test; installs PostgreSQL's binaries if there are none
	$(GO) test -timeout 20m ./...

lint: ## check formatting, go vet, staticcheck and the SQL functions
	@unformatted=$$(gofmt -l agent client cmd e2e gen server sql openapi); \
	if [ -n "$$unformatted" ]; then echo "not formatted, run gofmt -w:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(TOOL) staticcheck ./...
	$(MAKE) --no-print-directory lint-sql

lint-sql: postgresql ## check the queries with sqlc vet and the functions with plpgsql_check
	@GO='$(GO)' tools/lint-sql.sh

.PHONY: fuzz badinput vulncheck licences
fuzz: ## run every fuzz test for FUZZTIME (10s)
	@GO='$(GO)' FUZZTIME='$(FUZZTIME)' tools/fuzz.sh

badinput: postgresql ## send 100,000 malformed and borderline requests; FLAGS='-badinput.seed 7' for others
	$(GO) test -count=1 -timeout 60m ./server/badinput -run TestBadInput -v -badinput.requests 100000 $(FLAGS)

vulncheck: ## look for known vulnerabilities in what the program is built from
	@GO='$(GO)' tools/vulncheck.sh

licences: ## write docs/licences.md anew
	$(GO) test -count=1 ./e2e -run TestTheLicencesOfEveryModule -licences.update

generate: postgresql ## rebuild gen, openapi and the dump of the schema from their sources
	$(TOOL) sqlc generate
	$(GO) run ./cmd/berth openapi --all openapi/placement
	$(GO) run ./cmd/berth openapi --api baremetal --all openapi/baremetal
	$(TOOL) oapi-codegen -config gen/client/oapi-codegen.yaml -o gen/client/client.gen.go openapi/placement/1.39.json
	$(TOOL) oapi-codegen -config gen/baremetal/oapi-codegen.yaml -o gen/baremetal/baremetal.gen.go openapi/baremetal/1.82.json
	$(GO) test -count=1 ./server/migrate -run 'TestTheSchemaDump|TestChangedFunctions' -update

verify: generate ## rebuild and fail when anything differs from what is committed, or from what is released
	@git diff --exit-code -- $(GENERATED)
	@untracked=$$(git ls-files --others --exclude-standard -- $(GENERATED)); \
	if [ -n "$$untracked" ]; then echo "generated and not committed:"; echo "$$untracked"; exit 1; fi
	$(GO) run ./openapi/released

bench: postgresql ## measure requests beside a floor measured in the same run; FLAGS='-only writes'
	$(GO) run ./cmd/bench $(FLAGS)

bench-candidates: postgresql ## measure the search for candidates on clouds of 1,000 to 100,000 trees; FLAGS='-sizes 1000'
	$(GO) run ./cmd/benchcandidates $(FLAGS)

bench-baremetal: postgresql ## measure how many bare metal nodes are given away in a second, of 1,000 and of 10,000; FLAGS='-rounds 1'
	$(GO) run ./cmd/benchbaremetal $(FLAGS)

bench-hotspots: postgresql ## measure 16 clients on one provider, on one each, and looking for candidates first
	$(GO) test ./server -run '^$$' -bench Hotspots -benchtime 2000x

endurance: postgresql ## half load for an hour, or DURATION=5m: does anything grow?
	@tools/endurance.sh

db: postgresql ## create or migrate the embedded database without serving
	$(GO) run ./cmd/berth db migrate

psql: ## open psql on the database of a running berth
	@tools/psql.sh

plans: postgresql ## show how candidates are found: plans of typical questions, or of QUERY='resources=VCPU:1&limit=10'
	@GO='$(GO)' tools/plans.sh $(if $(QUERY),'$(QUERY)')

run: build postgresql ## build bin/berth and serve with it
	bin/berth serve

serve: postgresql ## serve on 127.0.0.1:8778; installs PostgreSQL's binaries if there are none
	$(GO) run ./cmd/berth serve

postgresql:
	@tools/install-postgresql.sh
