# machine.mk - builds the judges of mutants in the top of a tree with a switch (switch.lua):
#
#   judge_units, judge_table, judge_schedules   as judge.h says
#   zklock/core.so                              the module, for worlds
#
# tree.mk has the rules. With SANITIZE= fewer SCHEDULES= are enough.

include tree.mk

SWITCH = -include spec/mutants/judge.h
CORE_FLAGS = -std=c11 -D_GNU_SOURCE -O1 -g1 -w -Isrc/core -Ispec/core $(SWITCH) $(SANITIZE)
SIM_FLAGS = -std=c11 -D_GNU_SOURCE -O2 -g1 -w -Isrc/core @spec/sim/tables.flags $(SWITCH) $(SANITIZE)
MODULE_FLAGS += $(SWITCH)
zklock/core.so: zklock/switch.o

SESSION = $(patsubst src/%.c,unit/%.o,$(wildcard src/session/*.c))
TESTS = $(basename $(notdir $(wildcard spec/core/*_test.c spec/session/*_test.c)))
TESTED = $(TESTS:%=unit/%.o)
unit/%_test.o: CORE_FLAGS += -Dmain=$*
SIMULATED = $(filter-out sim/sim.o,$(SIM))
JUDGE = spec/mutants/judge.c spec/mutants/switch.c
SCHEDULES = 20000

# claim_table_test takes seconds, all others milliseconds.
TABLE = claim_table_test
link-units = $(CC) $(CORE_FLAGS) -D'UNITS=$(foreach test,$(1),UNIT($(test)))' $(2) -o $@ $(JUDGE) \
	spec/mutants/judge_units.c $^

judge_units: $(CORE) $(SESSION) $(TREE) $(filter-out unit/$(TABLE).o,$(TESTED))
	$(call link-units,$(filter-out $(TABLE),$(TESTS)),$(shell spec/sim/wraps spec/session/*.c))

judge_table: $(CORE) unit/$(TABLE).o
	$(call link-units,$(TABLE),-DSECONDS=40)

judge_schedules: $(SIMULATED)
	$(CC) $(SIM_FLAGS) -Ispec/sim -DSCHEDULES=$(SCHEDULES) $(shell spec/sim/wraps) -o $@ $(JUDGE) \
		spec/mutants/judge_schedules.c $^

$(eval $(call objects,unit/session,src/session,CORE_FLAGS))
$(eval $(call objects,unit,spec/session,CORE_FLAGS))
$(eval $(call objects,zklock,spec/mutants,MODULE_FLAGS))
$(TESTED): spec/session/server.h
