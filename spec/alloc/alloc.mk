# alloc.mk - each allocation of zklock's fails once. A single chapter of life.lua, from its third
# allocation on:
#
#   rig/zookeeper run -t 200 -- spec/alloc/run wait:3:1
#   spec/alloc/run wait:3:1:memory

$(eval $(call modules,$(BUILD)/alloc,$$(FLAGS_asan)))
$(BUILD)/alloc/zklock/core.so: $(BUILD)/alloc/objects/spec/alloc/failing.o
$(BUILD)/alloc/zklock/core.so: LIBS += $(shell spec/sim/wraps spec/alloc/failing.c)

test-alloc: $(BUILD)/alloc/zklock/core.so $(BUILD)/tests-asan/alloc/line_test $(BUILD)/asan/lua \
		$(RIG)
	@spec/core/run $(BUILD)/tests-asan/alloc/line_test
	@$(call with,alloc) ZKLOCK_LUA=$(BUILD)/asan/lua rig/zookeeper run -t 200 -- spec/alloc/run
