# mutants.mk - defects put back into src/, one at a time: the checks must catch each.
#
#   make mutants                           those of core.lua, zookeeper.lua, memory.lua and world.lua
#   make mutants-core                      those that need no spec and no server, of src/core and
#                                          of the tree in memory: two minutes
#   make mutants-twentieth                 a twentieth of them, in `make test`; which one depends on
#                                          the sources
#   make mutants MUTANTS="BUG-12 no-sync"  these only
#   make mutants-drawn COUNT=150 DRAW=7    as many small changes of lua/zklock and src/lua, drawn by
#                                          a seed: which part of the suite catches each
#                                          (drawn.lua); CHECKS="worlds memory": these parts only
#
# run.lua has the rest of the usage. A mutant's tree, its build and what caught it stay
# in build/mutants/<name>.

MUTANTS ?=
mutants-run = BUILD=$(BUILD) CC="$(CC)" ZOOKEEPER_INCDIR=$(ZOOKEEPER_INCDIR) LIBS="$(LIBS)" \
	$(LUA) spec/mutants/run.lua

.PHONY: mutants mutants-core mutants-twentieth mutants-drawn

mutants: $(BUILD)/rig/proxy
	@$(mutants-run) $(MUTANTS)

mutants-core:
	@$(mutants-run) --core $(MUTANTS)

mutants-twentieth:
	@$(mutants-run) --twentieth

COUNT ?= 150
DRAW ?= 1
CHECKS ?= worlds memory luajit server nginx slow slow-nginx

mutants-drawn: $(BUILD)/5.4/zklock/core.so $(BUILD)/5.1/zklock/core.so $(BUILD)/5.4/heap.so $(RIG)
	@BUILD=$(abspath $(BUILD)) CC="$(CC)" ZOOKEEPER_INCDIR=$(ZOOKEEPER_INCDIR) LIBS="$(LIBS)" \
		IN_WORLDS="$(IN_WORLDS)" IN_MEMORY="$(IN_MEMORY)" ALL_SPECS="$(specs) $(laboratory)" \
		CHECKS="$(CHECKS)" $(LUA) spec/mutants/drawn.lua $(COUNT) $(DRAW) $(MUTANTS)
