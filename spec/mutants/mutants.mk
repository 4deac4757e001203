# mutants.mk - defects put back into src/, one at a time: the checks must catch each.
#
#   make mutants                           those of core.lua, zookeeper.lua, memory.lua and world.lua
#   make mutants-core                      those that need no spec and no server, of src/core and
#                                          of the tree in memory: two minutes
#   make mutants-twentieth                 a twentieth of them, and of those of mutants-machine, in
#                                          `make test-all`; which one depends on the sources
#   make mutants MUTANTS="BUG-12 no-sync"  these only
#   make mutants-drawn COUNT=150 DRAW=7    as many small changes of lua/zklock and src/lua, drawn by
#                                          a seed: which part of the suite catches each
#                                          (drawn.lua); CHECKS="worlds memory": these parts only
#   make mutants-machine                   each small change of the claim machine, clock, line,
#                                          names and permits, and COUNT=1000 of the rest of
#                                          src/core and src/session, drawn by SEED=1, in one build
#                                          (machine.lua): hours; FILES="src/core/clock.c": of these;
#                                          KILLS=2: which check alone kills how many
#
# run.lua has the rest of the usage. A mutant's tree, its build and what caught it stay
# in build/mutants/<name>.

MUTANTS ?=
mutants-run = BUILD=$(BUILD) CC="$(CC)" ZOOKEEPER_INCDIR=$(ZOOKEEPER_INCDIR) LIBS="$(LIBS)" \
	$(LUA) spec/mutants/run.lua

spec-lists = IN_WORLDS="$(call runs,worlds)" IN_MEMORY="$(call runs,memory)"

mutants: $(BUILD)/rig/proxy
	@$(mutants-run) $(MUTANTS)

mutants-core:
	@$(mutants-run) --core $(MUTANTS)

mutants-twentieth:
	@$(mutants-run) --twentieth
	@$(MAKE) --no-print-directory mutants-machine PARTS=20

COUNT ?= 150
DRAW ?= 1
CHECKS ?= worlds memory luajit server nginx slow slow-nginx

mutants-drawn: $(BUILD)/5.4/zklock/core.so $(BUILD)/5.1/zklock/core.so $(BUILD)/5.4/heap.so $(RIG)
	@BUILD=$(abspath $(BUILD)) CC="$(CC)" ZOOKEEPER_INCDIR=$(ZOOKEEPER_INCDIR) LIBS="$(LIBS)" \
		$(spec-lists) ALL_SPECS="$(specs) $(laboratory)" \
		CHECKS="$(CHECKS)" $(LUA) spec/mutants/drawn.lua $(COUNT) $(DRAW) $(MUTANTS)

mutants-machine: COUNT = 1000
mutants-machine: KILLS = 1
mutants-machine: PARTS = 1
mutants-machine:
	@BUILD=$(abspath $(BUILD)) CC="$(CC)" ZOOKEEPER_INCDIR=$(ZOOKEEPER_INCDIR) LIBS="$(LIBS)" \
		$(spec-lists) KILLS=$(KILLS) PARTS=$(PARTS) \
		$(LUA) spec/mutants/machine.lua $(COUNT) $(or $(SEED),1) $(FILES)
