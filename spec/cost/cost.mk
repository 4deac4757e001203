# cost.mk - counts the work for few and for many waiters: of a session in basic blocks, of
# zklock.run in instructions, of an acquire in calls.

# The session calls the test's counter in each basic block.
FLAGS_cost = $(CFLAGS) -fsanitize-coverage=trace-pc

$(BUILD)/cost/session_test: spec/cost/session_test.c $(BUILD)/cost/driven.a
	@$(compile) $(WARNINGS) $(STRICT) $(CFLAGS) -o $@ $^

test-cost: $(BUILD)/cost/session_test test-growth test-calls
	@$<

test-growth: $(BUILD)/5.4/zklock/core.so
	@$(call with,5.4) lua5.4 spec/cost/growth.lua

# Each function of this library tells the tracer that it is entered.
$(eval $(call modules,$(BUILD)/cost,$(FLAGS_5.4) -O0 -gdwarf-4 -finstrument-functions))

$(BUILD)/cost/tracer.so: spec/cost/tracer.c
	@$(compile) $(CSTD) $(CFLAGS) $(FLAGS_5.4) -fPIC -shared -o $@ $<

test-calls: $(BUILD)/cost/zklock/core.so $(BUILD)/cost/tracer.so
	@LD_PRELOAD=$(BUILD)/cost/tracer.so LUA_PATH="lua/?.lua;lua/?/init.lua" \
		LUA_CPATH="$(BUILD)/cost/?.so" lua5.4 spec/cost/calls.lua $<
