# session.mk - the C specs of src/session; included by the top Makefile, all paths are from the top
# of the tree.

SESSION_SPECS = $(wildcard spec/session/*_test.c)
SESSION_FILES = $(SESSION_SPECS) $(SIM_DRIVEN) $(CORE_HEADERS) $(wildcard src/session/*.h) \
	$(wildcard spec/session/*.h)

# $(call session-programs,<folder>,<flags>): builds each spec, runs it, fails if one failed
define session-programs
	@mkdir -p $(1); status=0; for spec in $(SESSION_SPECS); do \
		name=$$(basename $$spec .c); \
		$(CC) $(CORE_STRICT) $(2) -Isrc/core -Ispec/core -o $(1)/$$name $$spec $(SIM_DRIVEN) \
			$$(spec/sim/wraps $$spec) \
			|| exit 1; \
		printf '%-26s ' $$name; $(CORE_RUNNER) $(1)/$$name >$(1)/$$name.log 2>&1 || status=1; \
		tail -n 1 $(1)/$$name.log; sed '$$d' $(1)/$$name.log; \
	done; exit $$status
endef

.PHONY: test-session

test-session: $(SESSION_FILES)
	$(call session-programs,$(BUILD)/session-tests,$(CORE_SANITIZE))
