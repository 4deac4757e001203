# make           the module, for Lua 5.4 and for LuaJIT; make install, clean
# make demo      the flash sale on a real ZooKeeper, with and without a lock; demo-http: over HTTP,
#                with two nginx (DB=mysql: on MariaDB); demo-engines: locks of Redis and of databases
# make site      the lessons as a folder of static pages, build/site
# make repl      a throwaway ZooKeeper and the prompt of zklock repl
# make test      the checks of continuous integration; test-all: all; test-matrix: newer servers,
#                libraries and Luas; test-arm64: by qemu; test-install: the commands of our pages
# make bench     a lock, beside bare libzookeeper; with WHAT= peers (beside other clients),
#                contended, many (waiters or locks), nginx, engines (other servers), claims (memory),
#                roll (servers with new addresses), worlds, planted (search for bugs in worlds)
# make soak      100 000 cycles, and a check of what they leave behind
# make coverage  MC/DC of the core and the session, by clang 19
# make dist      the source archive and its rockspec, in build
# make deb       Debian packages, in build/deb, made by MAINTAINER; test-deb: installed and used
# make specs     each spec, where it runs, and its subject
# make promises  each promise of docs/reference, and its tests
# make lint, format
#
# For packagers: CC CFLAGS LDFLAGS, LUA LUA_VERSION LUA_INCDIR (the Lua that `install` builds for),
# ZOOKEEPER_INCDIR ZOOKEEPER_LIBDIR, PREFIX LUADIR LIBDIR BINDIR MANDIR TYPESDIR DESTDIR.

CC ?= cc
CFLAGS ?= -O2 -g
LDFLAGS ?=
LUA_VERSION ?= 5.4
LUA ?= lua$(LUA_VERSION)
LUA_INCDIR ?= /usr/include/lua$(LUA_VERSION)
LUAJIT ?= luajit
LUAJIT_INCDIR ?= /usr/include/luajit-2.1
ZOOKEEPER_INCDIR ?= /usr/include
ZOOKEEPER_LIBDIR ?=
PREFIX ?= /usr/local
LUADIR ?= $(PREFIX)/share/lua/$(LUA_VERSION)
LIBDIR ?= $(PREFIX)/lib/lua/$(LUA_VERSION)
BINDIR ?= $(PREFIX)/bin
MANDIR ?= $(PREFIX)/share/man
# For language servers.
TYPESDIR ?= $(PREFIX)/share/zklock/types
BUILD = build

# The same order and text on each machine; and Debian's users have no path to its servers.
export LC_ALL = C.UTF-8
export PATH := $(PATH):/usr/sbin

WARNINGS = -Wall -Wextra -Wpedantic -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Werror
CSTD = -std=c11 -D_GNU_SOURCE
LIBS = $(addprefix -L,$(ZOOKEEPER_LIBDIR)) -lzookeeper_mt -lpthread -ldl

# Sources of zklock.core, and of zklock.child, which the command line alone loads.
FOLDERS = core session shell zookeeper memory world lua
SOURCES = $(wildcard $(FOLDERS:%=src/%/*.c))
CHILD_SOURCES = $(wildcard src/child/*.c) src/lua/values.c $(patsubst %,src/shell/%.c,linux now pin)
HEADERS = $(wildcard src/*/*.h)
LUA_FILES = $(shell find lua -name '*.lua')
RIG = $(BUILD)/rig/proxy $(BUILD)/rig/bare

# No line for each folder that make enters.
MAKEFLAGS += --no-print-directory

compile = mkdir -p $(@D) && $(CC)

.DELETE_ON_ERROR:
# A target without a slash is no file.
.PHONY: $(shell sed -nE 's/^([a-z][-a-z0-9. ]*):( .*)?$$/\1/p' Makefile */*.mk spec/*/*.mk)

all: $(BUILD)/5.4/zklock/core.so $(BUILD)/5.1/zklock/core.so


# --- the modules ----------------------------------------------------------------

comma = ,
OLDER = lua5.1 lua5.2 lua5.3

LUA_5.4 = lua5.4
LUA_5.1 = $(LUAJIT)
LUA_asan = $(BUILD)/asan/lua
LUA_tsan = $(BUILD)/tsan/lua
FLAGS_5.4 = -I/usr/include/lua5.4
FLAGS_5.1 = -I$(LUAJIT_INCDIR)
# Debian's other Luas.
$(foreach lua,$(OLDER),$(eval FLAGS_$(lua) = -I/usr/include/$(lua) -O0))
FLAGS_asan = $(FLAGS_5.4) -O1 -fno-omit-frame-pointer \
	-fsanitize=address$(comma)undefined -fno-sanitize-recover=undefined
FLAGS_tsan = $(FLAGS_5.4) -O1 -fno-omit-frame-pointer -fsanitize=thread

# $(call objects,<folder>,<flags>,<headers>): the object of each source, in <folder>
define objects
$(1)/%.o: %.c $(3)
	$$(compile) $$(WARNINGS) $(2) -c -o $$@ $$<
endef

# $(call modules,<folder>,<flags>): core.so, and with it child.so
define modules
$(call objects,$(1)/objects,$$(MODULE) $(2),$(HEADERS))

$(1)/zklock/core.so: $(SOURCES:%.c=$(1)/objects/%.o) | $(1)/zklock/child.so
	$$(call module,$(2),$$^,$$(LIBS))

$(1)/zklock/child.so: $(CHILD_SOURCES:%.c=$(1)/objects/%.o)
	$$(call module,$(2),$$^,-lpthread -ldl)
endef

# $(call modules-of,<folder>,<flags>,<packages>,<architecture>): with the libzookeeper of packages
# that rig/unpack unpacks
define modules-of
$(call modules,$(BUILD)/$(1),$(2))
$(patsubst %.c,$(BUILD)/$(1)/objects/%.o,$(sort $(SOURCES) $(CHILD_SOURCES))): $(3)/packages
$(BUILD)/$(1)/%: ZOOKEEPER_INCDIR = $(3)/usr/include
$(BUILD)/$(1)/%: ZOOKEEPER_LIBDIR = $(3)/usr/lib/$(4)
endef

MODULE = $(CSTD) $(CFLAGS) -fPIC -fvisibility=hidden -I$(ZOOKEEPER_INCDIR)

# $(call module,<flags>,<sources or objects>,<libraries>)
module = $(compile) $(WARNINGS) $(MODULE) $(1) -shared -o $@ $(2) $(LDFLAGS) $(3)

$(foreach build,5.4 5.1 $(OLDER) asan tsan,\
	$(eval $(call modules,$(BUILD)/$(build),$$(FLAGS_$(build)))))

# The installed modules are built anew, in a folder that goes, so that `sudo make install` leaves no
# file of root's in the tree. They have no asserts; all other builds do. A folder with a space in its
# name would be two targets.
install:
	@build=$$(mktemp -d $(or $(if $(word 2,$(TMPDIR)),,$(TMPDIR)),/tmp)/zklock.XXXXXX) && \
		trap 'rm -rf "$$build"' EXIT && trap 'exit 130' INT TERM && \
		$(MAKE) install-files INSTALL="$$build"

INSTALL = $(BUILD)/install
INSTALLED_C = $(INSTALL)/zklock/core.so $(INSTALL)/zklock/child.so

# Other compilers have other warnings.
$(INSTALLED_C): WARNINGS := $(filter-out -Werror,$(WARNINGS))
$(eval $(call modules,$(INSTALL),-I$(LUA_INCDIR) -DNDEBUG))

# Modules below lua, and the files that they read.
INSTALLED = $(shell cd lua && find zklock ! -type d)

# The command is started by the first of these that loads the module. (For LuaJIT's headers LuaRocks
# names plain Lua 5.1, which does not.) A command that is staged for another machine is started by
# LUA.
STARTERS = $(LUA) $(abspath $(LUA_INCDIR)/../../bin/luajit) luajit
loads = -e 'package.cpath = "$(DESTDIR)$(LIBDIR)/?.so" require "zklock.core"' 2>/dev/null

install-files: $(INSTALLED_C)
	install -D -m 755 -t "$(DESTDIR)$(LIBDIR)/zklock" $(INSTALLED_C)
	@set -e; for file in $(INSTALLED); do \
		install -D -m 644 lua/$$file "$(DESTDIR)$(LUADIR)/$$file"; done
	@lua=$$(for each in $(STARTERS); do "$$each" $(loads) && command -v "$$each" && break; done); \
	lua=$${lua:-$(if $(DESTDIR),$(LUA))}; file="$(DESTDIR)$(BINDIR)/zklock"; \
	case $$lua in [!/]*/*) lua=$(CURDIR)/$$lua ;; esac; \
	if [ "$$lua" ]; then install -d "$${file%/*}" && install -m 755 /dev/null "$$file" && \
		sed "s|^exec lua5.4 |exec $$lua |" bin/zklock >"$$file"; \
	else echo "zklock: no command, for none of these loads the module: $(STARTERS)" >&2; fi
	$(call written,manual,$(MANDIR)/man1/zklock.1,manual page)
	$(call written,types,$(TYPESDIR)/zklock.lua,types)

# $(call written,<script of rig>,<file>,<its contents>)
written = @file="$(DESTDIR)$(2)"; install -D -m 644 /dev/null "$$file"; \
	for each in $(STARTERS); do "$$each" rig/$(1).lua >"$$file" 2>/dev/null && exit; done; \
	rm "$$file"; echo "zklock: no $(3), for none of these starts: $(STARTERS)" >&2

# The version is the module's. DIST_URL is the address of the archive.
VERSION := $(shell sed -n 's/.*_VERSION = "\(.*\)" }/\1/p' lua/zklock/init.lua)
DIST = zklock-$(VERSION)
DIST_URL ?= file://$(abspath $(BUILD))

# A checkout that is heavier than spec/weights.lua allows is packed with OVERWEIGHT=1 only.
dist: $(BUILD)/types/zklock.lua
	$(if $(OVERWEIGHT),,[ ! -e .git ] || $(LUA) spec/weights.lua)
	if [ -e .git ]; then git archive --prefix=$(DIST)/types/ --add-file=$< --prefix=$(DIST)/ \
		-o $(BUILD)/$(DIST).tar.gz HEAD; else \
		find . '(' -path './$(BUILD)' -o -path ./types ')' -prune -o ! -type d -print | sort | \
		tar -czf $(BUILD)/$(DIST).tar.gz --transform='s,^\.,$(DIST),S' -T - -C $(BUILD) ./types/zklock.lua; fi
	sed 's/"scm-1"/"$(VERSION)-1"/; s,"file://zklock-scm.tar.gz","$(DIST_URL)/$(DIST).tar.gz",' \
		rockspec/zklock-scm-1.rockspec >$(BUILD)/$(DIST)-1.rockspec

$(BUILD)/types/zklock.lua: rig/types.lua $(LUA_FILES)
	mkdir -p $(@D)
	$(LUA) $< >$@

# lua-zklock, the library for Lua 5.4 and LuaJIT; zklock, the command.
MAINTAINER ?= the zklock authors <zklock@example.org>
DEB = $(BUILD)/deb/$(DIST)

deb:
	rig/packages deb
	rm -rf $(BUILD)/deb && mkdir -p $(DEB)
	tar -c --exclude=./$(BUILD) --exclude=./.git . | tar -x -C $(DEB)
	sed -i 's/@MAINTAINER@/$(MAINTAINER)/; s/@VERSION@/$(VERSION)/' $(DEB)/debian/control \
		$(DEB)/debian/changelog
	sed -i "s/@DATE@/$$(date -R)/" $(DEB)/debian/changelog
	cd $(DEB) && env -u MAKEFLAGS dpkg-buildpackage -us -uc -b
	lintian --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs --allow-root \
		$(BUILD)/deb/*.changes

test-deb: deb
	rig/packages deb-root
	debian/test $(BUILD)/deb

clean:
	rm -rf $(BUILD)


# --- the rig: servers, proxy, yardstick -------------------------------------------

setup:
	rig/packages

setup-tests:
	rig/packages tests

PROXY = rig/proxy.c rig/link.c rig/lane.c

$(BUILD)/rig/proxy: $(PROXY) $(wildcard rig/*.h)
	$(compile) -std=c11 $(WARNINGS) $(CFLAGS) -o $@ $(PROXY)

$(BUILD)/rig/bare: bench/bare.c
	$(compile) -std=c11 -D_POSIX_C_SOURCE=200809L $(WARNINGS) $(CFLAGS) -o $@ $< $(LIBS)

$(BUILD)/5.4/heap.so $(BUILD)/5.1/heap.so: $(BUILD)/%/heap.so: rig/heap.c
	$(call module,$(FLAGS_$*),$<)

# Runs a command with the tree's own zklock: $(call with,<build>) command
with = LUA_PATH="lua/?.lua;lua/?/init.lua;./?.lua;;" LUA_CPATH="$(BUILD)/$(1)/?.so;;"

# Lua 5.4 drives the demo over HTTP, and nginx has LuaJIT; each finds its own build.
sale = LUA_PATH="$(CURDIR)/lua/?.lua;$(CURDIR)/lua/?/init.lua;;" \
	LUA_CPATH="$(CURDIR)/$(BUILD)/5.1/?.so;;" LUA_CPATH_5_4="$(CURDIR)/$(BUILD)/5.4/?.so;;"

# DB=mysql: with a throwaway MariaDB.
DB ?= sqlite

packages-demo-http = http "$(DB)"
packages-demo-engines = engines
options-demo-http = --store "$(DB)"
demo-http: LUA = lua5.4

demo demo-http demo-engines: demo%:
	@rig/packages $(packages-$@)
	@$(MAKE) -s $(if $(options-$@),all,$(BUILD)/5.4/zklock/core.so)
	@$(if $(options-$@),$(sale),$(call with,5.4)) rig/zookeeper run -t 200 -- $(LUA) \
		lua/zklock/seckill$(subst -,/,$*)/demo.lua $(options-$@) \
		--report $(BUILD)/flash-sale$*.html $(DEMO)

# In virtual time, from seeds: no server, no network.
site:
	@$(MAKE) -s $(BUILD)/5.4/zklock/core.so
	@mkdir -p $(BUILD)/site/en $(BUILD)/site/zh $(BUILD)/site/runs
	@$(call with,5.4) lua5.4 lua/zklock/seckill/lessons/site.lua $(BUILD)/site
	@echo "$(BUILD)/site/index.html"

# The build that $(LUA) can load.
ABI = $(if $(findstring jit,$(LUA)),5.1,$(if $(filter $(OLDER),$(LUA)),$(LUA),5.4))

# In a process group of its own, so that Ctrl-C ends a wait at the prompt, and not make.
repl: setup
	@$(MAKE) -s $(BUILD)/$(ABI)/zklock/core.so
	@test ! -t 0 || set -m; \
		$(call with,$(ABI)) rig/zookeeper run -- $(LUA) bin/zklock repl

# make bench WHAT=peers, or make bench-peers. FSYNC=yes: the server of make bench waits for its
# disk, as in production. The engines' servers keep their data on the disk of the tree, because
# folders for temporary files may be in memory.
BENCHES = claims contended engines many nginx peers planted roll worlds
WHAT ?= bench

$(foreach what,contended many peers,$(eval packages-$(what) = peers || true) \
	$(eval needs-$(what) = build-peers))
packages-engines = engines
packages-nginx = tests
needs-roll = $(BUILD)/rig/names.so $(PEERS)/packages
server-claims = rig/zookeeper run --
server-nginx = rig/zookeeper run --
server-engines = TMPDIR="$$(realpath $(BUILD))"

bench: LUA := $(if $(filter nginx,$(WHAT)),$(LUAJIT),$(LUA))
bench:
	@rig/packages $(packages-$(WHAT))
	@$(MAKE) -s all $(RIG) $(needs-$(WHAT))
	@$(call with,$(ABI)) ZKLOCK_BUILD=$(BUILD) ZKLOCK_LUA=$(LUA) PEERS=$(PEERS) \
		FSYNC=$(FSYNC) $(server-$(WHAT)) $(LUA) bench/$(WHAT).lua $(BENCH)

$(BENCHES:%=bench-%): bench-%:
	@$(MAKE) bench WHAT=$*

soak = $(call with,5.1) rig/zookeeper run -- $(LUAJIT) bench/soak.lua

soak: setup
	@$(MAKE) -s $(BUILD)/5.1/zklock/core.so
	@$(soak) $(SOAK)

test-soak: $(BUILD)/5.1/zklock/core.so
	$(soak) --cycles 10000 --tries 2000 --waits 200


# --- tests --------------------------------------------------------------------------

# Files that specs need on a real server, by build.
on-5.4 = $(BUILD)/5.4/zklock/core.so $(BUILD)/5.4/heap.so $(RIG)
on-5.1 = $(BUILD)/5.1/zklock/core.so $(BUILD)/5.1/heap.so $(RIG)
on-asan = $(BUILD)/asan/zklock/core.so $(BUILD)/asan/lua $(RIG)
on-tsan = $(BUILD)/tsan/zklock/core.so $(BUILD)/tsan/lua $(RIG)

# All paths in these are from the top of the tree.
include $(foreach part,core sim cost torture neighbours mutants fuzz alloc finalizers \
	memory matrix coverage arm64,spec/$(part)/$(part).mk)
include proof/proof.mk

test: setup-tests
	@.ci/suite

test-all: setup-tests coverage-tools root-tools
	@.ci/suite all

build-tests: $(on-5.4) $(on-5.1) $(on-asan) $(OLDER:%=$(BUILD)/%/zklock/core.so)
build-all-tests: build-tests build-peers $(TLA_CHECKER_FOLDER) $(on-tsan) $(BUILD)/sim/sim \
	$(BUILD)/tests/driven.a $(BUILD)/tests-asan/driven.a

specs:
	@awk 'FNR == 1 { print FILENAME; head = 1 } !/^--/ { head = 0 } \
		head { sub(/^--+ ?/, ""); print $$0 ? "    " $$0 : "" }' \
		$(sort $(specs) $(laboratory) $(wildcard spec/nginx/*_spec.lua))

promises:
	@LUA_PATH="./?.lua;;" $(LUA) spec/promises.lua spec/*_spec.lua spec/*/*_spec.lua

# The first line of a spec names where it runs, such as [lua luajit asan]: lua, luajit, asan, tsan
# and tls on a real server, memory on one in memory, worlds in virtual time, and lua5.1 and older
# (Lua 5.2 and 5.3) in memory, too. The examples of docs have no such line, and run on lua and
# luajit. $(call runs,<word>): the specs with it
runs = $(or $(shell grep -lm1 -E '^--- \[([^]]* )?$(1)[] ]' $(specs) $(laboratory)),$(error \
	no spec names $(1)))
jit_specs = $(call runs,luajit) $(wildcard docs/*/*_spec.lua)

# Tests by their tags: for `make test`, for the rest of `make test-all`, and for a run alone.
QUICK = --exclude-tags=slow,clock
SLOW = --tags=slow --exclude-tags=clock
UNTIMED = --exclude-tags=clock
CLOCK = --tags=clock

BUSTED = $(shell command -v busted) --helper=spec/failed.lua

# $(call busted,<build>,<lua>,<specs>,<command before Lua>): the specs, by one Lua, with one build
run-busted = $(call with,$(1)) ZKLOCK_LUA=$(2) ZKLOCK_TARGET=$@ rig/zookeeper run -t 200 -- \
	$(4) $(2) $(BUSTED)
busted = $(run-busted) --exclude-tags=nginx $(TAGS) $(or $(SPEC),$(3))

test-lua: $(on-5.4)
	$(call busted,5.4,$(LUA))

test-luajit: $(on-5.1)
	$(call busted,5.1,$(LUAJIT),$(jit_specs))

# By way of stunnel (docs/tls.md).
test-tls: setup-tests $(on-5.4)
	$(call busted,5.4,$(LUA),$(call runs,tls),rig/tls)

# libzookeeper is not instrumented, but its calls of the C library are seen. Valgrind looks for
# leaks, as Lua and libzookeeper keep some memory to the end.
options-asan = ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1
options-tsan = TSAN_OPTIONS=atexit_sleep_ms=0:halt_on_error=1:second_deadlock_stack=1$(tsan-known)
tsan-known = :suppressions=$(CURDIR)/spec/tsan.supp

test-asan: $(on-asan)
test-tsan: $(on-tsan)
test-asan test-tsan: test-%:
	$(options-$*) $(call busted,$*,$(LUA_$*),$(call runs,$*))

# Inside a throwaway nginx. NGINX and NGINX_MODULES (in the environment) name another nginx: its
# program, and the folder of its loadable modules, if the Lua module is one.
test-nginx: $(BUILD)/5.1/zklock/core.so $(RIG)
	$(call run-busted,5.1,$(LUAJIT)) $(TAGS) $(or $(SPEC),spec/nginx)

# The flash sale on MariaDB instead of SQLite; not in make test, as it installs a database.
test-http-mysql: setup-tests
	rig/packages http mysql
	ZKLOCK_STORE=mysql $(MAKE) test-nginx SPEC=spec/nginx/sale_spec.lua

# Built with the same sanitizer as the module.
$(BUILD)/asan/lua $(BUILD)/tsan/lua: $(BUILD)/%/lua: rig/lua.c
	$(compile) $(CSTD) $(WARNINGS) $(FLAGS_$*) -g -o $@ $< -llua5.4

# $(call part,<target>,<specs>,<tags>): some specs of one of these
part = +@$(MAKE) $(1) SPEC="$(2)" TAGS="$(3)"

# Specs wait for three quarters of their time, so in some lanes of .ci/suite three parts, each with
# every third spec, run beside each other.
beside = $(call part,part-1 part-2 part-3 -k -j3 -Otarget OF=$(1),$(2),$(3))

part-1 part-2 part-3: part-%:
	+@$(MAKE) $(OF) SPEC="$(shell printf '%s\n' $(SPEC) | sed -n '$*~3p')"

interrupts = spec/interrupt_spec.lua

test-quick-specs test-quick-laboratory test-slow-specs test-slow-faults: $(on-5.4)
test-asan-specs: $(on-asan)
test-tsan-specs: $(on-tsan)

test-quick-specs: ; $(call beside,test-lua,$(filter-out $(interrupts),$(specs)),$(QUICK))
test-quick-laboratory: ; $(call beside,test-lua,$(laboratory),$(QUICK))
# On a server in memory they take a fifth of the time.
test-quick-interrupts: ; $(call part,test-lua-memory-5.4,$(interrupts),$(QUICK))
test-slow-specs: ; $(call beside,test-lua,$(others),$(SLOW))
test-slow-faults: ; $(call beside,test-lua,$(faults),$(SLOW))
test-slow-laboratory: ; $(call part,test-lua,$(laboratory),$(SLOW))
test-luajit-specs test-luajit-laboratory: test-luajit-%:
	$(call part,test-luajit,$(filter $($*),$(jit_specs)),$(QUICK))
test-asan-specs test-tsan-specs: test-%-specs:
	$(call beside,test-$*,$(filter $(specs),$(call runs,$*)),$(UNTIMED))

# On Lua 5.4 a real server has these specs in `make test`.
test-memory-quick: ; $(call part,test-lua-memory-5.1,,$(QUICK))
test-memory-slow:
	$(call part,test-lua-memory-5.1,,$(SLOW))
	$(call part,test-lua-memory-5.4,,$(UNTIMED))

test-nginx-quick: ; $(call part,test-nginx,,$(QUICK))
test-nginx-slow: ; $(call part,test-nginx,,$(SLOW))

# They wait for most of their time, so they run beside each other.
test-waits:
	+@$(MAKE) -k -j4 -Otarget test-nginx-quick test-memory-quick test-older-luas demo

test-clock:
	$(call part,test-lua,,$(CLOCK))
	$(call part,test-nginx,,$(CLOCK))

# Specs on a server in memory, but the tests with the tag #server, which need a real server.
# $(call in-memory,<build>,<lua>,<specs>)
in-memory = @$(call with,$(1)) ZKLOCK_LUA=$(2) ZKLOCK_SERVER=memory ZKLOCK_TARGET=$@ \
	$(2) $(BUSTED) --exclude-tags=nginx,server $(TAGS) $(or $(SPEC),$(3))

test-lua-memory: test-lua-memory-5.4 test-lua-memory-5.1 test-older-luas

test-lua-memory-5.4 test-lua-memory-5.1: test-lua-memory-%: $(BUILD)/%/zklock/core.so
	$(call in-memory,$*,$(LUA_$*),$(call runs,memory))

# Specs in worlds of virtual time, but the tests that need a real process, date or collector; under
# three seeds (ASan: one), or SEEDS of them, or SEED alone.
WORLDS_BY_DEFAULT = 3
WORLDS = $(or $(SEED),$(shell seq \
	$(if $(filter file,$(origin SEEDS)),$(WORLDS_BY_DEFAULT),$(SEEDS))))

# $(call in-worlds,<build>,<lua>,<variables>): a world that fails prints the command that repeats it
in-world = SEED=$$seed $(1) spec/in_world.lua --helper=spec/failed.lua \
	--exclude-tags=nginx,server,real $(2) || { status=$$?; \
	echo "seed $$seed: make $@ SEED=$$seed SPEC=\"$(2)\"" >&2; exit $$status; }
in-worlds = @export ZKLOCK_SERVER=memory ZKLOCK_TARGET=$@ $(call with,$(1)) $(3); \
	for seed in $(WORLDS); do $(if $(SPEC),$(call in-world,$(2),$(SPEC)), \
		for spec in $(call runs,worlds); do $(call in-world,$(2),$$spec); done); done

test-worlds: test-worlds-5.4 test-worlds-5.1 test-worlds-asan

test-worlds-asan: WORLDS_BY_DEFAULT = 1
test-worlds-asan: $(BUILD)/asan/lua
test-worlds-5.4 test-worlds-5.1 test-worlds-asan: test-worlds-%: $(BUILD)/%/zklock/core.so
	$(call in-worlds,$*,$(LUA_$*),$(options-$*))

# The other Luas: their differences from these two, in a few seconds. Plain Lua 5.1 has no
# zklock.run.
test-older-luas: $(OLDER:%=test-%)

$(OLDER:%=test-%): test-%: $(BUILD)/%/zklock/core.so
	$(call in-memory,$*,$*,$(call runs,$(if $(filter %5.1,$*),lua5.1,older)))

# Flash sales, and the engines of other servers.
laboratory = $(wildcard spec/bench_*_spec.lua spec/checker_spec.lua spec/seckill/*_spec.lua \
	docs/seckill/*_spec.lua)
faults = $(wildcard spec/fault/*_spec.lua)
others = $(filter-out $(laboratory),$(wildcard \
	docs/testing-your-code/*_spec.lua spec/*_spec.lua spec/loops/*_spec.lua))
specs = $(faults) $(others)

# A storm over cerberus with real engines; spec/seckill/cerberus_spec.lua has a short one.
SECONDS ?= 60
SEED ?=

test-cerberus-storm: $(BUILD)/$(ABI)/zklock/core.so
	@rig/packages engines
	@$(call with,$(ABI)) ZKLOCK_LUA=$(LUA) $(LUA) spec/seckill/cerberus/storm.lua $(SECONDS) $(SEED)

# The number of shells that want one lock; the spec takes 30.
SHELLS ?= 100

test-command-counter: $(BUILD)/$(ABI)/zklock/core.so
	ZKLOCK_SHELLS=$(SHELLS) $(call busted,$(ABI),$(LUA),spec/command_counter_spec.lua)

# The number of schedules of cerberus in worlds, of each kind; the spec takes 100.
WAYS ?= 20000

test-cerberus-model: $(BUILD)/5.1/zklock/core.so
	ZKLOCK_WAYS=$(WAYS) $(call with,5.1) \
		$(LUAJIT) $$(command -v busted) spec/seckill/cerberus_model_spec.lua

# An error at each instruction of each operation; the specs take some.
interrupts:
	ZKLOCK_INTERRUPTS=all $(MAKE) test-lua SPEC=$(interrupts)
	ZKLOCK_INTERRUPTS=all $(MAKE) test-luajit SPEC=$(interrupts)

# All specs, for a quarter of an hour; see spec/memcheck.
valgrind: $(on-5.4)
	@$(call with,5.4) ZKLOCK_LUA=$(LUA) spec/memcheck $(LUA) $(filter-out spec,$(SPEC))

# The short form: one life with all that allocates. It finds leaks after all is closed.
test-valgrind: $(BUILD)/5.4/zklock/core.so
	$(call with,5.4) rig/zookeeper run -t 500 -- valgrind --quiet --fair-sched=yes \
		--error-exitcode=9 --leak-check=full --show-leak-kinds=definite \
		--errors-for-leak-kinds=definite --suppressions=spec/valgrind.supp \
		$(LUA) spec/valgrind.lua

# zklock is installed, by LuaRocks and by make, for each Lua or one, and used from there.
test-rock test-rock-5.4: test-rock%:
	folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && trap 'exit 130' INT TERM && \
		rig/zookeeper run -- rig/rock "$$folder" $(*:-%=lua%)

# The commands of README.md, docs/install.md and docs/start.md, each section in a root of its own.
# It takes eight minutes of a processor, nine in all, and more beside other tests.
#
#   make test-install SECTION="docs/install.md#Without LuaRocks"     one section
#   make test-install JOBS=2                                         two sections at a time
#   make test-install VERBOSE=1                                      with all that they print
test-install: setup root-tools
	@VERBOSE=$(VERBOSE) rig/zookeeper run -- spec/install/run $(if $(SECTION),"$(SECTION)")

root-tools:
	@rig/packages deb-root


# --- style -----------------------------------------------------------------------------

C_SOURCES = $(wildcard src/*/*.c)
C_FILES = $(wildcard src/*/*.[ch] rig/*.[ch] bench/*.c spec/*/*.[ch] proof/cbmc/*.[ch])

CHECKED_LUA = bin/zklock $(shell find lua spec bench docs examples rig proof -name '*.lua')

# A file is checked again only when it has changed. A stamp has the time at which its check began.
LINT = $(BUILD)/lint
begin = @mkdir -p $(@D) && touch $@.begun
well = @mv $@.begun $@

lint: lint-quick lint-tidy
lint-quick: lint-actions $(addprefix $(LINT)/,format luacheck cppcheck words proofs)
lint-tidy: $(C_SOURCES:%=$(LINT)/%.tidy)

# $(call changed,<its settings>,<all>): the changed files; all, if the settings have changed
changed = $(if $(filter $(1),$?),$(2),$?)

$(LINT)/format: .clang-format $(C_FILES)
	$(begin)
	clang-format --dry-run --Werror $(call changed,$<,$(C_FILES))
	$(well)

$(LINT)/luacheck: .luacheckrc $(CHECKED_LUA)
	$(begin)
	luacheck --quiet $(call changed,$<,$(CHECKED_LUA))
	$(well)

# The rules of words hold for these.
WORDED = $(C_FILES) $(CHECKED_LUA) $(filter-out %.zh-CN.md,$(shell find *.md docs spec proof rig \
	bench examples lua -name '*.md'))

$(LINT)/words: spec/words.lua $(WORDED)
	$(begin)
	@lua5.4 spec/words.lua $(WORDED)
	$(well)

CPPCHECK = cppcheck --quiet --std=c11 --error-exitcode=1 --inline-suppr \
	--enable=warning,portability --suppress=missingIncludeSystem
TIDY = clang-tidy --quiet --warnings-as-errors="*"
SEEN_BY_TIDY = $(CSTD) -I/usr/include/lua5.4 -I$(ZOOKEEPER_INCDIR)

$(LINT)/cppcheck: $(C_SOURCES) $(HEADERS) $(wildcard rig/*.[ch]) $(LINT)/flags
	$(begin)
	@mkdir -p $@.files
	$(CPPCHECK) --cppcheck-build-dir=$@.files src rig/*.c
	$(well)

# CBMC takes a function that has gone for one that may return any value.
$(LINT)/proofs: $(wildcard proof/cbmc/*.[ch]) $(C_SOURCES) $(HEADERS)
	$(begin)
	@for proof in $(wildcard proof/cbmc/*.c); do $(CC) $(CSTD) -DPART=0.5 -Wall -Wextra -Werror \
		-Wno-unused -fsyntax-only $$proof || exit; done
	$(well)

# The headers of each source are in its .d.
$(LINT)/%.tidy: % .clang-tidy $(LINT)/flags
	$(begin)
	$(TIDY) $< -- $(SEEN_BY_TIDY)
	@$(CC) $(SEEN_BY_TIDY) -MM -MP -MT $@ -MF $(LINT)/$*.d $<
	$(well)

-include $(wildcard $(LINT)/src/*/*.d)

# Written only when the flags have changed.
lint-flags:
$(LINT)/flags: lint-flags
	@mkdir -p $(@D)
	@echo '$(CPPCHECK) $(TIDY) $(SEEN_BY_TIDY)' | cmp -s - $@ || \
		echo '$(CPPCHECK) $(TIDY) $(SEEN_BY_TIDY)' >$@

# Only src/session carries out what a claim asks for.
lint-actions:
	@! grep -nHE 'case +\(?ZKL_DO_' $(filter-out src/core/% src/session/%,$(C_FILES)) || \
		{ echo 'only src/session may carry out what a claim asks for'; exit 1; }
	@! ls -d ./-* 2>/dev/null || { echo 'a command made a file named as an option'; exit 1; }

format:
	clang-format -i $(C_FILES)
