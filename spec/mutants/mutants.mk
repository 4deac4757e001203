# mutants.mk - puts defects back into src/, one at a time. The checks must catch each.
# docs/testing.md has the commands, run.lua, drawn.lua and machine.lua their options. A mutant's
# tree, its build and the output of the check that caught it stay in build/mutants/<name>.

MUTANTS ?=
mutants-run = BUILD=$(BUILD) CC="$(CC)" ZOOKEEPER_INCDIR=$(ZOOKEEPER_INCDIR) \
	ZOOKEEPER_LIBDIR=$(ZOOKEEPER_LIBDIR) $(LUA) spec/mutants/run.lua

spec-lists = IN_WORLDS="$(call runs,worlds)" IN_MEMORY="$(call runs,memory)"

mutants: $(BUILD)/rig/proxy
	@$(mutants-run) $(MUTANTS)

mutants-core:
	@$(mutants-run) --core $(MUTANTS)

mutants-twentieth:
	@$(mutants-run) --twentieth
	@$(MAKE) mutants-machine PARTS=20

COUNT ?= 150
DRAW ?= 1
CHECKS ?= worlds memory luajit server nginx slow slow-nginx

mutants-drawn: $(BUILD)/5.4/zklock/core.so $(BUILD)/5.1/zklock/core.so $(BUILD)/5.4/heap.so $(RIG)
	@BUILD=$(abspath $(BUILD)) CC="$(CC)" ZOOKEEPER_INCDIR=$(ZOOKEEPER_INCDIR) LIBS="$(LIBS)" \
		$(spec-lists) ALL_SPECS="$(specs) $(laboratory)" \
		SOURCES="$(SOURCES)" CHILD_SOURCES="$(CHILD_SOURCES)" \
		CHECKS="$(CHECKS)" $(LUA) spec/mutants/drawn.lua $(COUNT) $(DRAW) $(MUTANTS)

mutants-machine: COUNT = 1000
mutants-machine: KILLS = 1
mutants-machine: PARTS = 1
mutants-machine: $(BUILD)/5.4/zklock/child.so
	@BUILD=$(abspath $(BUILD)) CC="$(CC)" ZOOKEEPER_INCDIR=$(ZOOKEEPER_INCDIR) \
		ZOOKEEPER_LIBDIR=$(ZOOKEEPER_LIBDIR) $(spec-lists) KILLS=$(KILLS) PARTS=$(PARTS) \
		$(LUA) spec/mutants/machine.lua $(COUNT) $(or $(SEED),1) $(FILES)
