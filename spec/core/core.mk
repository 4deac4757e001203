# core.mk - builds the C programs of spec, such as build/tests/core/name_test and build/sim/sim, and
# runs those that test src/core, src/session, whose server is the tree of src/memory, and choice.c.

# Each of these folders has its flags, and for its programs the sources that they drive, in an
# archive.
PROGRAM_FOLDERS = tests tests-unsigned tests-asan sim sim-two sim-asan cost

FLAGS_tests = $(CFLAGS)
FLAGS_tests-unsigned = $(CFLAGS) -funsigned-char # as on arm64
FLAGS_tests-asan = $(SANITIZE)

# The tree of src/memory is pure; the rest is the link to it.
TREE = $(addprefix src/memory/,node.c path.c table.c transaction.c tree.c watches.c)
DRIVEN = $(wildcard src/core/*.c src/session/*.c) $(TREE)
SIM = $(wildcard spec/sim/*.c)
TESTS = $(wildcard spec/*/*_test.c)
STRICT = -std=c11 -D_POSIX_C_SOURCE=200809L $(addprefix -I,src/core src/memory src/session \
	spec/core spec/memory)
SANITIZE = -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer

# $(call programs,<folder>,<flags>); the linker puts wrappers of a test, or of spec/sim/feeds.c,
# before functions
define programs
$(call objects,$(1),$$(STRICT) $(2),$(HEADERS) $(wildcard spec/*/*.h spec/sim/tables.flags))

$(1)/driven.a: $(DRIVEN:%.c=$(1)/%.o)
	rm -f $$@ && $$(AR) rc $$@ $$^

.SECONDARY: $(TESTS:%.c=$(1)/%.o)
$(1)/%_test: $(1)/spec/%_test.o $(1)/driven.a
	mkdir -p $$(@D)
	$$(CC) $(2) -o $$@ $$^ $$(shell spec/sim/wraps spec/$$*_test.c)

$(1)/sim: $(SIM:%.c=$(1)/%.o) $(1)/driven.a
	$$(CC) $(2) -o $$@ $$^ $$(shell spec/sim/wraps $(SIM))
endef

$(foreach each,$(PROGRAM_FOLDERS),$(eval $(call programs,$(BUILD)/$(each),$$(FLAGS_$(each)))))

CORE_TESTS = $(patsubst spec/%.c,%,$(wildcard spec/core/*_test.c))
SESSION_TESTS = $(patsubst spec/%.c,%,$(wildcard spec/session/*_test.c))
ZOOKEEPER_TESTS = $(patsubst spec/%.c,%,$(wildcard spec/zookeeper/*_test.c))

test-core test-core-unsigned test-core-asan: \
test-core%: $(addprefix $(BUILD)/tests%/,$(CORE_TESTS))
	@spec/core/run $^

test-session: $(addprefix $(BUILD)/tests-asan/,$(SESSION_TESTS) $(ZOOKEEPER_TESTS))
	@spec/core/run $^
