# torture.mk - make torture: faults on real servers, and a check of the history.
# Included by the top Makefile; all paths are from the top of the tree.
#
#   make torture MINUTES=5 SEED=17     the page is $(TORTURE)/index.html
#   make torture-check                 checks the last history once more
#   make test-torture                  the short form; its history goes to proof-history, too

MINUTES ?= 1
SEED ?=
TORTURE ?= $(BUILD)/torture

.PHONY: torture torture-check test-torture

$(BUILD)/rig/clock.so: spec/fault/clock.c
	mkdir -p $(@D)
	$(CC) -std=c11 -D_GNU_SOURCE $(WARNINGS) $(CFLAGS) -shared -fPIC -o $@ $<

torture: setup
	@$(MAKE) --no-print-directory -s $(BUILD)/5.4/zklock/core.so $(BUILD)/5.1/zklock/core.so \
		$(RIG) $(BUILD)/rig/clock.so
	@mkdir -p $(TORTURE)
	@$(call with,$(ABI)) ZKLOCK_BUILD=$(BUILD) $(LUA) spec/torture/torture.lua \
		"$(MINUTES)" "$(SEED)" "$(TORTURE)"

test-torture:
	@$(MAKE) --no-print-directory torture MINUTES=0.5 SEED=17
	@$(MAKE) --no-print-directory proof-history

torture-check:
	@$(call with,$(ABI)) $(LUA) spec/torture/torture.lua check "$(TORTURE)"
