# cost.mk - counts the work for few and for many waiters: of a session in basic blocks, of
# zklock.run in instructions, of an acquire in calls.

# The session calls the test's counter in each basic block.
$(BUILD)/cost/session_test: spec/cost/session_test.c $(SIM_DRIVEN) $(CORE_HEADERS) \
		$(wildcard src/session/*.h)
	@$(compile) $(CORE_STRICT) $(CFLAGS) -Ispec/core -c -o $@.o $<
	@$(CC) $(CORE_STRICT) $(CFLAGS) -fsanitize-coverage=trace-pc -o $@ $@.o $(SIM_DRIVEN)

test-cost: $(BUILD)/cost/session_test test-growth test-calls
	@$<

test-growth: $(BUILD)/5.4/zklock/core.so
	@$(call with,5.4) lua5.4 spec/cost/growth.lua

# Each function of this library tells the tracer that it is entered.
$(BUILD)/cost/zklock/core.so: $(SOURCES) $(HEADERS)
	@$(call module,$(FLAGS_5.4) -O0 -gdwarf-4 -finstrument-functions,$(SOURCES),$(LIBS))

$(BUILD)/cost/tracer.so: spec/cost/tracer.c
	@$(compile) $(CSTD) $(CFLAGS) $(FLAGS_5.4) -fPIC -shared -o $@ $<

test-calls: $(BUILD)/cost/zklock/core.so $(BUILD)/cost/tracer.so
	@LD_PRELOAD=$(BUILD)/cost/tracer.so LUA_PATH="lua/?.lua;lua/?/init.lua" \
		LUA_CPATH="$(BUILD)/cost/?.so" lua5.4 spec/cost/calls.lua $<
