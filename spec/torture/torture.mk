# torture.mk - make torture: faults on real servers, and a check of the history.
#
#   make torture MINUTES=5 SEED=17     the page is $(TORTURE)/index.html
#   make torture FAULTS=killed         only such faults (spec/torture/faults.lua)
#   make torture FSYNC=yes             servers wait for their disks, as in production
#   make torture-check                 checks the last history once more

MINUTES ?= 1
SEED ?=
TORTURE ?= $(BUILD)/torture

# What is preloaded; dlsym gives a function as a pointer to data, which ISO C does not know.
$(BUILD)/rig/%.so: spec/fault/%.c
	mkdir -p $(@D)
	$(CC) -std=c11 -D_GNU_SOURCE $(WARNINGS) -Wno-pedantic $(CFLAGS) -shared -fPIC -o $@ $<

torture: setup
	@$(MAKE) --no-print-directory -s $(BUILD)/5.4/zklock/core.so $(BUILD)/5.1/zklock/core.so \
		$(RIG) $(foreach each,clock names taken,$(BUILD)/rig/$(each).so)
	@mkdir -p $(TORTURE)
	@$(call with,$(ABI)) ZKLOCK_BUILD=$(BUILD) FSYNC="$(FSYNC)" FAULTS="$(FAULTS)" $(LUA) \
		spec/torture/torture.lua "$(MINUTES)" "$(SEED)" "$(TORTURE)"

test-torture:
	@$(MAKE) --no-print-directory torture MINUTES=0.3 SEED=17 FAULTS=address
	@$(MAKE) --no-print-directory torture MINUTES=0.5 SEED=17
	@$(MAKE) --no-print-directory proof-history

torture-check:
	@$(call with,$(ABI)) $(LUA) spec/torture/torture.lua check "$(TORTURE)"
