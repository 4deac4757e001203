# neighbours.mk - make neighbours: zklock beside Curator, kazoo and go-zookeeper.
# Included by the top Makefile; all paths are from the top of the tree.
#
#   make neighbours MINUTES=5 SEED=17     all together on a few paths, and a check of the history
#   make neighbours SERVERS=3             on an ensemble
#   make test-neighbours                  step by step, and the short form

SERVERS ?= 1
NEIGHBOURS = $(BUILD)/neighbours/Curator.class $(BUILD)/neighbours/gozk

.PHONY: neighbours test-neighbours

$(BUILD)/neighbours/Curator.class: spec/neighbours/Curator.java
	mkdir -p $(@D)
	javac -Xlint:all,-path -Werror -d $(@D) -cp '/usr/share/java/*' $<

$(BUILD)/neighbours/gozk: spec/neighbours/gozk.go
	mkdir -p $(@D)
	GO111MODULE=off GOPATH=/usr/share/gocode GOCACHE=$(abspath $(BUILD))/go go build -o $@ $<

neighbours: setup-tests
	@$(MAKE) --no-print-directory -s $(BUILD)/5.4/zklock/core.so $(BUILD)/5.1/zklock/core.so \
		$(NEIGHBOURS)
	@$(call with,$(ABI)) ZKLOCK_BUILD=$(BUILD) $(LUA) spec/neighbours/together.lua \
		"$(MINUTES)" "$(SEED)" "$(SERVERS)"

test-neighbours: $(BUILD)/5.4/zklock/core.so $(RIG) $(NEIGHBOURS)
	$(call with,5.4) ZKLOCK_BUILD=$(BUILD) rig/zookeeper run -t 200 -- \
		$(LUA) $(shell command -v busted) spec/neighbours/exclusion.lua
	@$(MAKE) --no-print-directory neighbours MINUTES=0.15 SEED=17
