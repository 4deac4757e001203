# fuzz.mk - the fuzzers. The head of each source has its rules. Inputs that reach new lines are kept
# in build/fuzz/<name>/corpus, where the next run begins, and beside them an input that breaks a
# rule; `build/fuzz/<name>_fuzz <file>` repeats it. Needs clang with its runtime (libclang-rt).

SECONDS ?= 3600
FUZZ ?= name hosts options session reply

FUZZ_FLAGS = $(CSTD) $(WARNINGS) -g -O1 -fno-omit-frame-pointer \
	-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
	-Isrc -Isrc/core -I/usr/include/lua5.4 -I$(ZOOKEEPER_INCDIR)
FUZZ_PROGRAMS = $(FUZZ:%=$(BUILD)/fuzz/%_fuzz)

$(BUILD)/fuzz/%_fuzz: spec/fuzz/%_fuzz.c $(wildcard spec/fuzz/*.h) $(SOURCES) $(HEADERS)
	$(compile) $(FUZZ_FLAGS) -o $@ $< $(FUZZ_SOURCES)

$(BUILD)/fuzz/name_fuzz: FUZZ_SOURCES = src/core/name.c
$(BUILD)/fuzz/session_fuzz: FUZZ_SOURCES = $(wildcard src/core/*.c src/session/*.c) \
	-DPATH_BUCKETS=2 -DWATCH_BUCKETS=16
$(BUILD)/fuzz/hosts_fuzz: FUZZ_SOURCES = $(SOURCES) $(LIBS) -lm -llua5.4 \
	-Wl,--wrap=getaddrinfo,--wrap=freeaddrinfo
$(BUILD)/fuzz/reply_fuzz: FUZZ_SOURCES = $(filter-out src/shell/now.c src/shell/thread.c \
	src/zookeeper/descriptors.c,$(wildcard $(patsubst %,src/%/*.c,core session shell zookeeper))) \
	-ldl
$(BUILD)/fuzz/options_fuzz: FUZZ_SOURCES = $(SOURCES) $(LIBS) -lm -llua5.4

$(FUZZ_PROGRAMS): CC = clang

fuzz: $(FUZZ_PROGRAMS)
	@spec/fuzz/run $(SECONDS) $(FUZZ_PROGRAMS)

test-fuzz: $(FUZZ_PROGRAMS)
	@spec/fuzz/run 10 $(FUZZ_PROGRAMS)
