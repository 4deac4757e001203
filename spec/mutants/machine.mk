# machine.mk - builds the judges of mutants in the top of a tree with a switch (switch.lua):
#
#   build/judge_units, build/judge_table, build/judge_schedules   as judge.h says
#   build/5.4/zklock/core.so                                      the module, for worlds
#
# With a sanitizer (SANITIZED=-fsanitize=...) fewer SCHEDULES= are enough.

include Makefile

WARNINGS = -w -include spec/mutants/judge.h $(SANITIZED)
CFLAGS = -O1 -g1
FLAGS_sim = -O2 -g1 $(TABLES)
SCHEDULES = 20000

$(BUILD)/5.4/zklock/core.so: $(BUILD)/5.4/objects/spec/mutants/switch.o

# A test's main() is named after the test.
$(BUILD)/judge/%.o: spec/%.c $(BUILD)/tests/driven.a
	$(compile) $(WARNINGS) $(STRICT) $(CFLAGS) -Dmain=$(*F) -c -o $@ $<

# $(call judge,<name>,<flags>)
judge = $(CC) $(WARNINGS) $(CSTD) $(CFLAGS) $(2) -o $@ spec/mutants/judge.c spec/mutants/switch.c \
	spec/mutants/judge_$(1).c $^

# claim_table_test takes seconds, all others milliseconds.
TABLE = core/claim_table_test
UNITS = $(filter-out $(TABLE),$(CORE_TESTS) $(SESSION_TESTS))
units = -D'UNITS=$(foreach test,$(notdir $(1)),UNIT($(test)))'

$(BUILD)/judge_units: $(UNITS:%=$(BUILD)/judge/%.o) $(BUILD)/tests/driven.a
	$(call judge,units,$(call units,$(UNITS)) $(shell spec/sim/wraps spec/session/*.c))

$(BUILD)/judge_table: $(BUILD)/judge/$(TABLE).o $(BUILD)/tests/driven.a
	$(call judge,units,$(call units,$(TABLE)) -DSECONDS=40)

$(BUILD)/judge_schedules: $(filter-out %/sim.o,$(SIM:%.c=$(BUILD)/sim/%.o)) $(BUILD)/sim/driven.a
	$(call judge,schedules,-Isrc/core -Ispec/sim $(TABLES) -DSCHEDULES=$(SCHEDULES) \
		$(shell spec/sim/wraps))
