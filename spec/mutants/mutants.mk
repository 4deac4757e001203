# mutants.mk - defects put back into src/, one at a time: the checks must catch each.
#
#   make mutants                           those of core.lua, zookeeper.lua and memory.lua
#   make mutants-core                      those that need no spec and no server, of src/core and
#                                          of the tree in memory: two minutes
#   make mutants-twentieth                 a twentieth of them, in `make test`; which one depends on
#                                          the sources
#   make mutants MUTANTS="BUG-12 no-sync"  these only
#
# run.lua has the rest of the usage. A mutant's tree, its build and what caught it stay
# in build/mutants/<name>.

MUTANTS ?=
mutants-run = BUILD=$(BUILD) CC="$(CC)" ZOOKEEPER_INCDIR=$(ZOOKEEPER_INCDIR) LIBS="$(LIBS)" \
	$(LUA) spec/mutants/run.lua

.PHONY: mutants mutants-core mutants-twentieth

mutants: $(BUILD)/rig/proxy
	@$(mutants-run) $(MUTANTS)

mutants-core:
	@$(mutants-run) --core $(MUTANTS)

mutants-twentieth:
	@$(mutants-run) --twentieth
