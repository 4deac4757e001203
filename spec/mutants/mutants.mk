# mutants.mk - puts defects back into src/, one at a time. The checks must catch each.
# docs/testing.md has the commands, run.lua, drawn.lua and machine.lua their options. A mutant's
# tree, its build and the output of the check that caught it stay in build/mutants/<name>.

MUTANTS ?=
mutants-lua = BUILD=$(abspath $(BUILD)) CC="$(CC)" ZOOKEEPER_INCDIR=$(ZOOKEEPER_INCDIR) \
	ZOOKEEPER_LIBDIR=$(ZOOKEEPER_LIBDIR) \
	ALL_SPECS="$(specs) $(laboratory)" IN_WORLDS="$(call runs,worlds)" \
	IN_MEMORY="$(call runs,memory)" $(LUA) spec/mutants/$(1).lua

mutants: $(BUILD)/rig/proxy
	@$(call mutants-lua,run) $(MUTANTS)

mutants-core:
	@$(call mutants-lua,run) --core $(MUTANTS)

mutants-twentieth:
	@$(call mutants-lua,run) --twentieth
	@$(MAKE) mutants-machine PARTS=20

COUNT ?= 150
DRAW ?= 1
CHECKS ?= worlds memory luajit server nginx slow slow-nginx

mutants-drawn: $(on-5.4) $(BUILD)/5.1/zklock/core.so
	@CHECKS="$(CHECKS)" $(call mutants-lua,drawn) $(COUNT) $(DRAW) $(MUTANTS)

mutants-machine: COUNT = 1000
mutants-machine: KILLS = 1
mutants-machine: PARTS = 1
mutants-machine: $(BUILD)/5.4/zklock/child.so
	@KILLS=$(KILLS) PARTS=$(PARTS) $(call mutants-lua,machine) $(COUNT) $(or $(SEED),1) $(FILES)
