# core.mk - the C specs of src/core. Stands alone (make -f spec/core/core.mk test-core)
# or is included by the top Makefile; all paths are from the top of the tree.

BUILD ?= build
CFLAGS ?= -O2 -g
CORE_GCOV ?= gcov
CORE_COVERAGE_FLOOR ?= 95

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

.PHONY: test-core test-core-asan test-core-unsigned coverage-core

test-core: $(CORE_SPECS) $(CORE_SOURCES) $(CORE_HEADERS)
	$(call core-programs,$(BUILD)/core-tests,$(CFLAGS))

# As on arm64, where char has no sign.
test-core-unsigned: $(CORE_SPECS) $(CORE_SOURCES) $(CORE_HEADERS)
	$(call core-programs,$(BUILD)/core-tests-unsigned,$(CFLAGS) -funsigned-char)

test-core-asan: $(CORE_SPECS) $(CORE_SOURCES) $(CORE_HEADERS)
	$(call core-programs,$(BUILD)/core-tests-asan,$(CORE_SANITIZE))

# One object per source, linked into every spec, so that the counts add up. A failed spec does
# not stop the measurement: test-core is the judge of that.
coverage-core: $(CORE_SPECS) $(CORE_SOURCES) $(CORE_HEADERS)
	@rm -rf $(BUILD)/coverage && mkdir -p $(BUILD)/coverage
	@for source in $(CORE_SOURCES); do \
		$(CC) $(CORE_STRICT) -O0 -g --coverage -Isrc/core -c $$source \
			-o $(BUILD)/coverage/$$(basename $$source .c).o || exit 1; \
	done
	@for spec in $(CORE_SPECS); do \
		name=$$(basename $$spec .c); \
		$(CC) $(CORE_STRICT) -O0 -g -Isrc/core -Ispec/core $$spec $(BUILD)/coverage/*.o \
			--coverage -fno-profile-arcs -fno-test-coverage \
			-o $(BUILD)/coverage/$$name || exit 1; \
		$(BUILD)/coverage/$$name >$(BUILD)/coverage/$$name.log 2>&1 \
			|| echo "$$name failed"; \
	done
	@for source in $(CORE_SOURCES); do \
		$(CORE_GCOV) -n -o $(BUILD)/coverage $$source 2>/dev/null; \
	done | awk -v floor=$(CORE_COVERAGE_FLOOR) ' \
		/^File / { split($$0, part, "\047"); file = part[2] } \
		/^Lines executed:/ && file ~ /src\/core\/.*\.c$$/ { \
			split($$0, part, /[:% ]+/); lines = $$NF; \
			printf "%-22s %6.2f %% of %d lines\n", file, part[3], lines; \
			hit += part[3] * lines / 100; all += lines; } \
		/^Lines executed:/ { file = "" } \
		END { total = all ? 100 * hit / all : 0; \
			printf "%-22s %6.2f %% of %d lines\n", "total", total, all; \
			if (total < floor) { print "below " floor " %"; exit 1 } }'
