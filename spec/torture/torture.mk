# torture.mk - make torture: faults on real servers, and a check of the history.
#
#   make torture MINUTES=5 SEED=17     the page is $(TORTURE)/index.html
#   make torture FAULTS=killed         only such faults (spec/torture/faults.lua)
#   make torture FSYNC=yes             servers wait for their disks, as in production
#   make torture-check                 checks the last history once more

MINUTES ?= 1
SEED ?=
TORTURE ?= $(BUILD)/torture

# Libraries to preload. dlsym gives a function as a pointer to data, which ISO C does not know.
$(BUILD)/rig/%.so: spec/fault/%.c
	$(compile) $(CSTD) $(WARNINGS) -Wno-pedantic $(CFLAGS) -shared -fPIC -o $@ $<

torture: setup
	@$(MAKE) -s $(BUILD)/5.4/zklock/core.so $(BUILD)/5.1/zklock/core.so \
		$(RIG) $(foreach each,clock names taken,$(BUILD)/rig/$(each).so)
	@mkdir -p $(TORTURE)
	@$(call with,$(ABI)) ZKLOCK_BUILD=$(BUILD) FSYNC="$(FSYNC)" FAULTS="$(FAULTS)" $(LUA) \
		spec/torture/torture.lua "$(MINUTES)" "$(SEED)" "$(TORTURE)"

test-torture:
	@$(MAKE) torture MINUTES=0.3 SEED=17 FAULTS=address
	@$(MAKE) torture MINUTES=0.5 SEED=17
	@$(MAKE) proof-history

torture-check:
	@$(call with,$(ABI)) $(LUA) spec/torture/torture.lua check "$(TORTURE)"
