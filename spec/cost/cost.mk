# cost.mk - counts what few and many cost: of one session in basic blocks, of zklock.run in
# instructions, of an acquire in calls.

# The session calls the test's counter in each basic block.
$(BUILD)/cost/session_test: spec/cost/session_test.c $(SIM_DRIVEN) $(CORE_HEADERS) \
		$(wildcard src/session/*.h)
	@mkdir -p $(@D)
	@$(CC) $(CORE_STRICT) $(CFLAGS) -Ispec/core -c -o $@.o $<
	@$(CC) $(CORE_STRICT) $(CFLAGS) -fsanitize-coverage=trace-pc -o $@ $@.o $(SIM_DRIVEN)

test-cost: $(BUILD)/cost/session_test test-growth test-calls
	@$<

test-growth: $(BUILD)/5.4/zklock/core.so
	@$(call with,5.4) lua5.4 spec/cost/growth.lua

# Each function of this library tells the tracer that it is entered.
$(BUILD)/cost/zklock/core.so: $(SOURCES) $(HEADERS)
	@mkdir -p $(@D)
	@$(CC) $(CSTD) -O0 -gdwarf-4 -finstrument-functions -I/usr/include/lua5.4 \
		-I$(ZOOKEEPER_INCDIR) -fPIC -fvisibility=hidden -shared -o $@ $(SOURCES) $(LDFLAGS) $(LIBS)

$(BUILD)/cost/tracer.so: spec/cost/tracer.c
	@mkdir -p $(@D)
	@$(CC) $(CSTD) $(CFLAGS) -I/usr/include/lua5.4 -fPIC -shared -o $@ $<

test-calls: $(BUILD)/cost/zklock/core.so $(BUILD)/cost/tracer.so
	@LD_PRELOAD=$(BUILD)/cost/tracer.so LUA_PATH="lua/?.lua;lua/?/init.lua" \
		LUA_CPATH="$(BUILD)/cost/?.so" lua5.4 spec/cost/calls.lua $<
