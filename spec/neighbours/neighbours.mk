# neighbours.mk - zklock beside Curator, kazoo and go-zookeeper: docs/testing.md.

SERVERS ?= 1
# Where the clients' packages are unpacked: empty for those of the machine.
CLIENTS ?=
NEIGHBOURS_BUILD = $(or $(CLIENTS),$(BUILD))/neighbours
NEIGHBOURS = $(NEIGHBOURS_BUILD)/Curator.class $(NEIGHBOURS_BUILD)/gozk
# go-zookeeper had another name in 2018.
GO_IMPORT = $(if $(CLIENTS),go-zookeeper,samuel/go-zookeeper)/zk
GO_VERSION = $(if $(CLIENTS),$(call version,peers,$(GO_CLIENT)),$$(dpkg-query -W \
	-f '$${Version}' golang-github-samuel-go-zookeeper-dev))

$(NEIGHBOURS_BUILD)/Curator.class: spec/neighbours/Curator.java spec/neighbours/CuratorVersion.java
	mkdir -p $(@D)
	javac -implicit:none -Xlint:all,-path -Werror -d $(@D) \
		-cp '$(CLIENTS)/usr/share/java/*' $^

$(NEIGHBOURS_BUILD)/gozk: spec/neighbours/gozk.go
	mkdir -p $(@D)
	sed 's,samuel/go-zookeeper/zk,$(GO_IMPORT),' $< >$@.go
	GO111MODULE=off GOPATH=$(CLIENTS)/usr/share/gocode GOCACHE=$(abspath $(BUILD))/go \
		go build -ldflags "-X main.version=$(GO_VERSION)" -o $@ $@.go

neighbours test-neighbours: export ZKLOCK_BUILD = $(BUILD)
neighbours test-neighbours: export ZKLOCK_CLIENTS = $(CLIENTS)

neighbours: setup-tests
	@$(MAKE) --no-print-directory -s $(BUILD)/5.4/zklock/core.so $(BUILD)/5.1/zklock/core.so \
		$(NEIGHBOURS)
	@$(call with,$(ABI)) $(LUA) spec/neighbours/together.lua \
		"$(MINUTES)" "$(SEED)" "$(SERVERS)"

test-neighbours: $(BUILD)/5.4/zklock/core.so $(RIG) $(NEIGHBOURS)
	$(call with,5.4) rig/zookeeper run -t 200 -- \
		$(LUA) $(shell command -v busted) spec/neighbours/exclusion.lua
	@$(MAKE) --no-print-directory neighbours MINUTES=0.15 SEED=17
