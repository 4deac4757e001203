# neighbours.mk - zklock beside Curator, kazoo and go-zookeeper; see docs/testing.md.

SERVERS ?= 1
# The folder of the clients' unpacked packages; empty for the machine's own.
CLIENTS ?=
NEIGHBOURS_BUILD = $(or $(CLIENTS),$(BUILD))/neighbours
NEIGHBOURS = $(NEIGHBOURS_BUILD)/Curator.class $(NEIGHBOURS_BUILD)/gozk
# go-zookeeper had another name in 2018.
GO_IMPORT = $(if $(CLIENTS),go-zookeeper,samuel/go-zookeeper)/zk
GO_VERSION = $(if $(CLIENTS),$(call version,peers,$(GO_CLIENT)),$$(dpkg-query -W \
	-f '$${Version}' golang-github-samuel-go-zookeeper-dev))

$(NEIGHBOURS_BUILD)/Curator.class: spec/neighbours/Curator.java spec/neighbours/CuratorVersion.java
	$(call java,$(CLIENTS))

$(NEIGHBOURS_BUILD)/gozk: spec/neighbours/gozk.go
	mkdir -p $(@D)
	sed 's,samuel/go-zookeeper/zk,$(GO_IMPORT),' $< >$@.go
	$(call go,$(CLIENTS),$(GO_VERSION)) $@.go

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
