# core.mk - the C specs of src/core, and of src/session, whose server is the tree of src/memory.

CORE_STRICT = -std=c11 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Wpedantic -Wshadow \
	-Wmissing-prototypes -Wstrict-prototypes -Werror
CORE_SANITIZE = -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all \
	-fno-omit-frame-pointer
CORE_SOURCES = $(wildcard src/core/*.c)
CORE_HEADERS = $(wildcard src/core/*.h spec/core/*.h)
CORE_SPECS = $(wildcard spec/core/*_test.c)

# $(call spec-programs,<folder>,<flags>,<specs>,<sources>): builds the sources once, then each spec,
# runs it (by CORE_RUNNER, if there is one), and fails if one failed
define spec-programs
	@mkdir -p $(1) && rm -f $(1)/tested.a
	@for source in $(4); do \
		object=$(1)/$$(echo $$source | tr / -).o; \
		$(CC) $(CORE_STRICT) $(2) -c -o $$object $$source && $(AR) rc $(1)/tested.a $$object \
			|| exit 1; \
	done
	@status=0; for spec in $(3); do \
		name=$$(basename $$spec .c); \
		$(CC) $(CORE_STRICT) $(2) -Isrc/core -Ispec/core -o $(1)/$$name $$spec $(1)/tested.a \
			$$(spec/sim/wraps $$spec) || exit 1; \
		printf '%-26s ' $$name; $(CORE_RUNNER) $(1)/$$name >$(1)/$$name.log 2>&1 || status=1; \
		tail -n 1 $(1)/$$name.log; sed '$$d' $(1)/$$name.log; \
	done; exit $$status
endef

core-programs = $(call spec-programs,$(1),$(2),$(CORE_SPECS),$(CORE_SOURCES))

CORE_FLAGS = $(CFLAGS)
test-core-unsigned: CORE_FLAGS += -funsigned-char # as on arm64
test-core-asan: CORE_FLAGS = $(CORE_SANITIZE)

test-core test-core-unsigned test-core-asan: $(CORE_SPECS) $(CORE_SOURCES) $(CORE_HEADERS)
	$(call core-programs,$(BUILD)/$(@:test-core%=core-tests%),$(CORE_FLAGS))

SESSION_SPECS = $(wildcard spec/session/*_test.c)
SESSION_DRIVEN = $(SIM_DRIVEN) $(MEMORY_SOURCES)
SESSION_FILES = $(SESSION_SPECS) $(SIM_DRIVEN) $(CORE_HEADERS) $(wildcard src/session/*.h) \
	$(wildcard spec/session/*.h)

session-programs = $(call spec-programs,$(1),$(2),$(SESSION_SPECS),$(SESSION_DRIVEN))

test-session: $(SESSION_FILES)
	$(call session-programs,$(BUILD)/session-tests,$(CORE_SANITIZE))
