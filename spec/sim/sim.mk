# sim.mk - the simulator of spec/sim: src/session, with src/core, against a model of ZooKeeper.
# build/sim/sim has more commands: replay a run, tell its story.

SEEDS ?= 2000000
FIRST ?= 1

SIM_SOURCES = $(wildcard spec/sim/*.c)
SIM_DRIVEN = $(CORE_SOURCES) $(wildcard src/session/*.c)
SIM_FILES = $(SIM_SOURCES) $(SIM_DRIVEN) $(CORE_HEADERS) $(wildcard src/session/*.h spec/sim/*.h) \
	spec/sim/tables.flags

# The linker puts spec/sim/feeds.c between the session and its claims.
SIM_WRAP = $(shell spec/sim/wraps)
# With two paths and few nodes small tables are searched sooner, and few waiters count as many.
SIM_TABLES = @spec/sim/tables.flags

# $(call simulator,<flags>)
simulator = @$(compile) $(CORE_STRICT) -Isrc/core -Ispec/sim $(SIM_TABLES) $(SIM_WRAP) -o $@ \
	$(SIM_SOURCES) $(SIM_DRIVEN) $(1)

# A fixed address, and no detours into libc, make it a twentieth faster. sim-two has two tokens a
# node.
SIM_FLAGS_sim = -O3 -g -fno-pie -no-pie -fno-plt
SIM_FLAGS_sim-two = -g -UZKL_BATCH_MAX -DZKL_BATCH_MAX=2
SIM_FLAGS_sim-asan = $(CORE_SANITIZE)

$(patsubst %,$(BUILD)/sim/%,sim sim-two sim-asan): $(BUILD)/sim/%: $(SIM_FILES)
	$(call simulator,$(SIM_FLAGS_$*))

sim: $(BUILD)/sim/sim $(BUILD)/sim/sim-two
	$(BUILD)/sim/sim seeds $(FIRST) $(SEEDS)
	$(BUILD)/sim/sim small
	$(BUILD)/sim/sim-two small renewal

# The same seed gives the same run, byte for byte.
test-sim: $(BUILD)/sim/sim $(BUILD)/sim/sim-two $(BUILD)/sim/sim-asan
	$(BUILD)/sim/sim seeds 1 150000
	$(BUILD)/sim/sim-asan seeds 1 10000
	$(BUILD)/sim/sim small calm
	$(BUILD)/sim/sim-two small renewal
	$(BUILD)/sim/sim replay 4711 >$(BUILD)/sim/once
	$(BUILD)/sim/sim-asan replay 4711 >$(BUILD)/sim/again
	cmp $(BUILD)/sim/once $(BUILD)/sim/again && test -s $(BUILD)/sim/once
	$(BUILD)/sim/sim transitions 1 60000 | $(LUA) spec/sim/compare.lua docs/design/states.md
