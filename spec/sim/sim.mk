# sim.mk - the simulator of spec/sim: src/session, with src/core, against a model of ZooKeeper.
# build/sim/sim has more commands: replay a run, tell its story.

SEEDS ?= 2000000
FIRST ?= 1

# With two paths and few nodes small tables are searched sooner, and few waiters count as many.
TABLES = @spec/sim/tables.flags
# A fixed address, and no detours into libc, make it a twentieth faster. sim-two has two tokens a
# node.
FLAGS_sim = -O3 -g -fno-pie -no-pie -fno-plt $(TABLES)
FLAGS_sim-two = -g $(TABLES) -UZKL_BATCH_MAX -DZKL_BATCH_MAX=2
FLAGS_sim-asan = $(SANITIZE) $(TABLES)

sim: $(BUILD)/sim/sim $(BUILD)/sim-two/sim
	$(BUILD)/sim/sim seeds $(FIRST) $(SEEDS)
	$(BUILD)/sim/sim small
	$(BUILD)/sim-two/sim small renewal

# The same seed gives the same run, byte for byte.
test-sim: $(BUILD)/sim/sim $(BUILD)/sim-two/sim $(BUILD)/sim-asan/sim
	$(BUILD)/sim/sim seeds 1 150000
	$(BUILD)/sim-asan/sim seeds 1 10000
	$(BUILD)/sim/sim small calm
	$(BUILD)/sim-two/sim small renewal
	$(BUILD)/sim/sim replay 4711 >$(BUILD)/sim/once
	$(BUILD)/sim-asan/sim replay 4711 >$(BUILD)/sim/again
	cmp $(BUILD)/sim/once $(BUILD)/sim/again && test -s $(BUILD)/sim/once
	$(BUILD)/sim/sim transitions 1 60000 | $(LUA) spec/sim/compare.lua docs/design/states.md
