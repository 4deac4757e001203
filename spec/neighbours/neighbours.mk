# neighbours.mk - zklock beside Curator, kazoo and go-zookeeper (docs/testing.md), whose programs
# `make bench` runs, too. Java, Python and Go's compiler are the machine's.

SERVERS ?= 1
# The folder of the clients' unpacked packages; empty for the machine's own.
CLIENTS ?=
NEIGHBOURS_BUILD = $(or $(CLIENTS),$(BUILD))/neighbours
NEIGHBOURS = $(NEIGHBOURS_BUILD)/Curator.class $(NEIGHBOURS_BUILD)/gozk

# Packages of Debian's sid, which rig/unpack unpacks below build/debian. `make bench` says which
# client is missing.
PEERS = $(DEBIAN)/peers
GO_CLIENT = golang-github-go-zookeeper-zk-dev
unpack-peers = sid $(@D) libcurator-client-java libcurator-framework-java \
	libcurator-recipes-java libzookeeper-java libguava-java libslf4j-java python3-kazoo $(GO_CLIENT)

build-peers:
	-@$(MAKE) -s -k build-neighbours CLIENTS=$(PEERS)

build-neighbours: $(NEIGHBOURS)

$(NEIGHBOURS): $(CLIENTS:%=%/packages)

$(NEIGHBOURS_BUILD)/Curator.class: spec/neighbours/Curator.java spec/neighbours/CuratorVersion.java
	mkdir -p $(@D)
	javac -implicit:none -Xlint:all,-path -Werror -d $(@D) -cp '$(CLIENTS)/usr/share/java/*' \
		$(filter %.java,$^)

# go-zookeeper had another name in 2018.
GO_IMPORT = $(if $(CLIENTS),go-zookeeper,samuel/go-zookeeper)/zk
GO_VERSION = $(if $(CLIENTS),$(call version,peers,$(GO_CLIENT)),$$(dpkg-query -W \
	-f '$${Version}' golang-github-samuel-go-zookeeper-dev))

$(NEIGHBOURS_BUILD)/gozk: spec/neighbours/gozk.go
	mkdir -p $(@D)
	sed 's,samuel/go-zookeeper/zk,$(GO_IMPORT),' $< >$@.go
	GO111MODULE=off GOPATH=$(CLIENTS)/usr/share/gocode GOCACHE=$(abspath $(BUILD))/go \
		go build -ldflags "-X main.version=$(GO_VERSION)" -o $@ $@.go

neighbours test-neighbours: export ZKLOCK_BUILD = $(BUILD)
neighbours test-neighbours: export ZKLOCK_CLIENTS = $(CLIENTS)

neighbours: setup-tests
	@$(MAKE) -s $(BUILD)/5.4/zklock/core.so $(BUILD)/5.1/zklock/core.so \
		$(NEIGHBOURS)
	@$(call with,$(ABI)) $(LUA) spec/neighbours/together.lua \
		"$(MINUTES)" "$(SEED)" "$(SERVERS)"

test-neighbours: $(BUILD)/5.4/zklock/core.so $(RIG) $(NEIGHBOURS)
	$(call with,5.4) rig/zookeeper run -t 200 -- \
		$(LUA) $(shell command -v busted) spec/neighbours/exclusion.lua
	@$(MAKE) neighbours MINUTES=0.15 SEED=17
