# memory.mk - the specs of src/memory. REQUESTS=100000 SEED=7: more requests, others.

REQUESTS ?= 2000

# The tree is pure; the rest of src/memory is the link to it.
MEMORY_SOURCES = $(addprefix src/memory/,node.c path.c table.c transaction.c tree.c watches.c)
MEMORY_FILES = $(MEMORY_SOURCES) $(wildcard src/memory/*.h spec/memory/*.h) src/session/rpc.h \
	src/core/clock.h src/core/hash.h spec/core/check.h
MEMORY_TESTS = $(addprefix $(BUILD)/memory/,tree_test tree_test-asan shortage_test-asan)

$(BUILD)/memory/tree_test $(BUILD)/memory/tree_test-asan: spec/memory/tree_test.c
$(BUILD)/memory/shortage_test-asan: spec/memory/shortage_test.c
$(BUILD)/memory/differential: spec/memory/differential.c spec/memory/server.c

MEMORY_FLAGS = $(if $(filter %-asan,$@),$(CORE_SANITIZE),$(CFLAGS))
$(BUILD)/memory/differential: MEMORY_FLAGS += -DTHREADED -I$(ZOOKEEPER_INCDIR) $(LIBS)
$(BUILD)/memory/shortage_test-asan: MEMORY_FLAGS += \
	-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free

$(MEMORY_TESTS) $(BUILD)/memory/differential: $(MEMORY_FILES)
	@$(compile) $(CORE_STRICT) -Isrc/memory -Isrc/session -Ispec/memory -Ispec/core -o $@ \
		$(filter spec/%.c,$^) $(MEMORY_SOURCES) $(MEMORY_FLAGS)

test-memory: $(MEMORY_TESTS) $(BUILD)/memory/differential
	@status=0; for program in $(MEMORY_TESTS); do \
		printf '%-26s ' $$(basename $$program); $$program || status=1; \
	done; exit $$status
	@spec/memory/against $(BUILD)/memory/differential $(or $(SEED),1) $(REQUESTS)
