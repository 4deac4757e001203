# cost.mk - what a session does for each of few and of many, counted; included by the top Makefile,
# all paths are from the top of the tree.

.PHONY: test-cost

# The session calls the test's counter in each basic block.
$(BUILD)/cost/session_test: spec/cost/session_test.c $(SIM_DRIVEN) $(CORE_HEADERS) \
		$(wildcard src/session/*.h)
	@mkdir -p $(@D)
	@$(CC) $(CORE_STRICT) $(CFLAGS) -Ispec/core -c -o $@.o $<
	@$(CC) $(CORE_STRICT) $(CFLAGS) -fsanitize-coverage=trace-pc -o $@ $@.o $(SIM_DRIVEN)

test-cost: $(BUILD)/cost/session_test
	@$<
