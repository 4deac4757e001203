# memory.mk - the specs of src/memory. REQUESTS=100000 SEED=7: more requests, others.

REQUESTS ?= 2000

# The tree is pure; the rest of src/memory is the link to it.
MEMORY_SOURCES = $(addprefix src/memory/,node.c path.c table.c transaction.c tree.c watches.c)
MEMORY_FILES = $(MEMORY_SOURCES) $(wildcard src/memory/*.h spec/memory/*.h) src/session/rpc.h \
	src/core/clock.h src/core/hash.h spec/core/check.h
MEMORY_TESTS = $(addprefix $(BUILD)/memory/,tree_test tree_test-asan shortage_test-asan)

# $(call memory-program,<sources>,<flags>)
memory-program = @mkdir -p $(@D) && $(CC) $(CORE_STRICT) -Isrc/memory -Isrc/session \
	-Ispec/memory -Ispec/core -o $@ $(1) $(MEMORY_SOURCES) $(2)

$(BUILD)/memory/tree_test: spec/memory/tree_test.c $(MEMORY_FILES)
	$(call memory-program,$<,$(CFLAGS))

$(BUILD)/memory/tree_test-asan: spec/memory/tree_test.c $(MEMORY_FILES)
	$(call memory-program,$<,$(CORE_SANITIZE))

$(BUILD)/memory/shortage_test-asan: spec/memory/shortage_test.c $(MEMORY_FILES)
	$(call memory-program,$<,$(CORE_SANITIZE) \
		-Wl$(comma)--wrap=malloc$(comma)--wrap=calloc$(comma)--wrap=realloc$(comma)--wrap=free)

$(BUILD)/memory/differential: spec/memory/differential.c spec/memory/server.c $(MEMORY_FILES)
	$(call memory-program,$(filter spec/%.c,$^),$(CFLAGS) -DTHREADED -I$(ZOOKEEPER_INCDIR) $(LIBS))

test-memory: $(MEMORY_TESTS) $(BUILD)/memory/differential
	@status=0; for program in $(MEMORY_TESTS); do \
		printf '%-26s ' $$(basename $$program); $$program || status=1; \
	done; exit $$status
	@spec/memory/against $(BUILD)/memory/differential $(or $(SEED),1) $(REQUESTS)
