# tree.mk - builds the tree in whose top it runs, a copy of ours, perhaps with a defect in it.
#
#   unit/<spec>      one of spec/core, with the sanitizers: a crash is a catch, too
#   sim/sim          the simulator
#   memory/<spec>    one of spec/memory, with the sanitizers
#   cost/<spec>      one of spec/cost
#   zklock/core.so   the module for Lua 5.4; with it zklock/child.so
#
# A mutant begins as a built copy of the unchanged tree, so only files with its defect are compiled
# again. There are no warnings, because a defect may leave something unused.

CC ?= cc
ZOOKEEPER_INCDIR ?= /usr/include
LIBS ?= -lzookeeper_mt -lpthread -ldl

CORE_FLAGS = -std=c11 -D_POSIX_C_SOURCE=200809L -O1 -g1 -w -Isrc/core -Ispec/core \
	-fsanitize=address,undefined -fno-sanitize-recover=all
SIM_FLAGS = -std=c11 -D_GNU_SOURCE -O2 -g1 -w -Isrc/core @spec/sim/tables.flags
MODULE_FLAGS = -std=c11 -D_GNU_SOURCE -O1 -g1 -w -fPIC -fvisibility=hidden \
	-I/usr/include/lua5.4 -I$(ZOOKEEPER_INCDIR)

MEMORY_FLAGS = $(CORE_FLAGS) -Isrc/memory -Isrc/session -Ispec/memory

HEADERS = $(wildcard src/*/*.h spec/core/*.h spec/sim/*.h spec/memory/*.h)
CORE = $(patsubst src/%.c,unit/%.o,$(wildcard src/core/*.c))
SIM = $(patsubst src/%.c,sim/%.o,$(wildcard src/core/*.c src/session/*.c)) \
	$(patsubst spec/sim/%.c,sim/%.o,$(wildcard spec/sim/*.c))
COST_FLAGS = -std=c11 -D_GNU_SOURCE -O2 -g1 -w -Ispec/core
COUNTED_FLAGS = $(COST_FLAGS) -fsanitize-coverage=trace-pc
COST = $(patsubst src/%.c,cost/%.o,$(wildcard src/core/*.c src/session/*.c))
TREE = $(addprefix memory/src/,node.o path.o table.o transaction.o tree.o watches.o)
MODULE = $(patsubst src/%.c,zklock/%.o,\
	$(wildcard $(patsubst %,src/%/*.c,core session shell zookeeper memory world lua)))

.PHONY: units
units: $(patsubst spec/core/%.c,unit/%,$(wildcard spec/core/*_test.c))

# $(call objects,<folder>,<folder of the sources>,<name of the flags>)
define objects
$(1)/%.o: $(2)/%.c $$(HEADERS)
	@mkdir -p $$(@D)
	$$(CC) $$($(3)) -c -o $$@ $$<
endef

$(eval $(call objects,unit/core,src/core,CORE_FLAGS))
$(eval $(call objects,unit,spec/core,CORE_FLAGS))
$(eval $(call objects,memory/src,src/memory,MEMORY_FLAGS))
$(eval $(call objects,memory,spec/memory,MEMORY_FLAGS))
$(eval $(call objects,sim/core,src/core,SIM_FLAGS))
$(eval $(call objects,sim/session,src/session,SIM_FLAGS))
$(eval $(call objects,sim,spec/sim,SIM_FLAGS))
$(eval $(call objects,cost,src,COUNTED_FLAGS))
$(eval $(call objects,cost,spec/cost,COST_FLAGS))
$(eval $(call objects,zklock,src,MODULE_FLAGS))

unit/%: unit/%.o $(CORE)
	$(CC) $(CORE_FLAGS) -o $@ $^

memory/%: memory/%.o $(TREE)
	$(CC) $(MEMORY_FLAGS) -o $@ $^

cost/%: cost/%.o $(COST)
	$(CC) $(COST_FLAGS) -o $@ $^

sim/sim: $(SIM)
	$(CC) $(SIM_FLAGS) $(shell spec/sim/wraps) -o $@ $^

zklock/core.so: $(MODULE) | zklock/child.so
	$(CC) -shared -o $@ $^ $(LIBS)

zklock/child.so: $(patsubst src/%.c,zklock/%.o,$(wildcard src/child/*.c) src/lua/values.c \
	src/shell/linux.c src/shell/now.c src/shell/pin.c)
	$(CC) -shared -o $@ $^ $(LIBS)

.SECONDARY:
