# session.mk - the C specs of src/session, whose server is the tree of src/memory.

SESSION_SPECS = $(wildcard spec/session/*_test.c)
SESSION_DRIVEN = $(SIM_DRIVEN) $(MEMORY_SOURCES)
SESSION_FILES = $(SESSION_SPECS) $(SIM_DRIVEN) $(CORE_HEADERS) $(wildcard src/session/*.h) \
	$(wildcard spec/session/*.h)

session-programs = $(call spec-programs,$(1),$(2),$(SESSION_SPECS),$(SESSION_DRIVEN))

test-session: $(SESSION_FILES)
	$(call session-programs,$(BUILD)/session-tests,$(CORE_SANITIZE))
