# cost.mk - counts what few and many cost: of one session in basic blocks, of zklock.run in
# instructions. The top Makefile includes it: all paths are from the top of the tree.

.PHONY: test-cost test-growth

# The session calls the test's counter in each basic block.
$(BUILD)/cost/session_test: spec/cost/session_test.c $(SIM_DRIVEN) $(CORE_HEADERS) \
		$(wildcard src/session/*.h)
	@mkdir -p $(@D)
	@$(CC) $(CORE_STRICT) $(CFLAGS) -Ispec/core -c -o $@.o $<
	@$(CC) $(CORE_STRICT) $(CFLAGS) -fsanitize-coverage=trace-pc -o $@ $@.o $(SIM_DRIVEN)

test-cost: $(BUILD)/cost/session_test test-growth
	@$<

test-growth: $(BUILD)/5.4/zklock/core.so
	@$(call with,5.4) lua5.4 spec/cost/growth.lua
