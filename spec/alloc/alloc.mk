# alloc.mk - each allocation of zklock's fails once. A single chapter of life.lua, from its third
# allocation on:
#
#   rig/zookeeper run -t 200 -- spec/alloc/run wait:3:1
#   spec/alloc/run wait:3:1:memory

ALLOC_WRAP = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup,--wrap=free

$(BUILD)/alloc/zklock/core.so: $(SOURCES) $(HEADERS) spec/alloc/failing.c
	$(call module,$(FLAGS_asan),$(filter %.c,$^),$(ALLOC_WRAP) $(LIBS))

$(BUILD)/alloc/line_test: spec/alloc/line_test.c $(CORE_SOURCES) $(CORE_HEADERS)
	$(compile) $(CORE_STRICT) $(CORE_SANITIZE) -Isrc/core -Ispec/core -Wl,--wrap=calloc \
		-o $@ $(filter %.c,$^)

test-alloc: $(BUILD)/alloc/zklock/core.so $(BUILD)/alloc/line_test $(BUILD)/asan/lua $(RIG)
	@$(call with,alloc) ZKLOCK_LUA=$(BUILD)/asan/lua rig/zookeeper run -t 200 -- spec/alloc/run
