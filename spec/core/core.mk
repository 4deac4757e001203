# core.mk - the C specs of src/core. Stands alone (make -f spec/core/core.mk test-core)
# or is included by the top Makefile; all paths are from the top of the tree.

BUILD ?= build
CFLAGS ?= -O2 -g

CORE_STRICT = -std=c11 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Wpedantic -Wshadow \
	-Wmissing-prototypes -Wstrict-prototypes -Werror
CORE_SANITIZE = -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all \
	-fno-omit-frame-pointer
CORE_SOURCES = $(wildcard src/core/*.c)
CORE_HEADERS = $(wildcard src/core/*.h spec/core/*.h)
CORE_SPECS = $(wildcard spec/core/*_test.c)

# core-programs(directory, flags): builds every spec there, runs each (by CORE_RUNNER, if there is
# one), fails if one failed
define core-programs
	@mkdir -p $(1) && rm -f $(1)/core.a
	@for source in $(CORE_SOURCES); do \
		$(CC) $(CORE_STRICT) $(2) -c -o $(1)/$$(basename $$source .c).o $$source \
			|| exit 1; \
	done; $(AR) rcs $(1)/core.a $(patsubst src/core/%.c,$(1)/%.o,$(CORE_SOURCES))
	@status=0; for spec in $(CORE_SPECS); do \
		name=$$(basename $$spec .c); \
		$(CC) $(CORE_STRICT) $(2) -Isrc/core -Ispec/core -o $(1)/$$name $$spec $(1)/core.a \
			|| exit 1; \
		printf '%-26s ' $$name; $(CORE_RUNNER) $(1)/$$name >$(1)/$$name.log 2>&1 || status=1; \
		tail -n 1 $(1)/$$name.log; sed '$$d' $(1)/$$name.log; \
	done; exit $$status
endef

.PHONY: test-core test-core-asan test-core-unsigned

test-core: $(CORE_SPECS) $(CORE_SOURCES) $(CORE_HEADERS)
	$(call core-programs,$(BUILD)/core-tests,$(CFLAGS))

# As on arm64, where char has no sign.
test-core-unsigned: $(CORE_SPECS) $(CORE_SOURCES) $(CORE_HEADERS)
	$(call core-programs,$(BUILD)/core-tests-unsigned,$(CFLAGS) -funsigned-char)

test-core-asan: $(CORE_SPECS) $(CORE_SOURCES) $(CORE_HEADERS)
	$(call core-programs,$(BUILD)/core-tests-asan,$(CORE_SANITIZE))
