# memory.mk - the specs of src/memory. REQUESTS=100000 SEED=7: more requests, others.

REQUESTS ?= 2000

MEMORY_TESTS = $(addprefix $(BUILD)/,tests/memory/tree_test tests-asan/memory/tree_test \
	tests-asan/memory/shortage_test)

$(BUILD)/memory/differential: spec/memory/differential.c spec/memory/server.c $(BUILD)/tests/driven.a
	@$(compile) $(WARNINGS) $(STRICT) $(CFLAGS) -DTHREADED -I$(ZOOKEEPER_INCDIR) -o $@ $^ $(LIBS)

test-memory: $(MEMORY_TESTS) $(BUILD)/memory/differential
	@spec/core/run $(MEMORY_TESTS)
	@spec/memory/against $(BUILD)/memory/differential $(or $(SEED),1) $(REQUESTS)
