# matrix.mk - tests zklock with newer versions of Lua, libzookeeper, ZooKeeper and nginx, from
# packages of newer Debian releases, which rig/unpack unpacks below build/debian (docs/testing.md).
# After rm -r build/debian the next run fetches the packages of its day.

CELLS ?= own server-trixie server-sid library-trixie lua-sid nginx-trixie nginx-sid \
	peers-sid

# Specs of the features that most programs use.
MATRIX_SPECS = $(patsubst %,spec/%_spec.lua,lock session expiry rwlock semaphore condition guard \
	watch)
# More specs, for differences between Luas.
MATRIX_LUA_SPECS = $(MATRIX_SPECS) $(patsubst %,spec/%_spec.lua,handles input misuse with)
MATRIX_NGINX_SPECS = spec/nginx/wait_spec.lua spec/nginx/tls_phases_spec.lua

DEBIAN = $(abspath $(BUILD))/debian
MULTIARCH = $(shell $(CC) -print-multiarch)

test-matrix: setup-tests all $(RIG)
	@spec/matrix/run $(CELLS)


# --- packages -------------------------------------------------------------------

# <suite> has libraries and servers, which use the machine's libc.
# <suite>-run has programs that need a newer libc, with all that they depend on.
UNPACKED = libzookeeper-java libzookeeper-mt2 libzookeeper-mt-dev
PROGRAMS = nginx libnginx-mod-http-lua libzookeeper-mt2

unpack-trixie = trixie $(@D) $(UNPACKED)
unpack-sid = sid $(@D) $(UNPACKED) liblua5.5-dev
unpack-trixie-run = -d trixie $(@D) $(PROGRAMS)
unpack-sid-run = -d sid $(@D) $(PROGRAMS) lua5.5 lua-busted lua-socket

$(DEBIAN)/%/packages:
	rig/unpack $(unpack-$*)

FLAGS_trixie = $(FLAGS_5.4)
FLAGS_sid = -I$(DEBIAN)/sid/usr/include/lua5.5 -I$(DEBIAN)/sid/usr/include/$(MULTIARCH)
with-libzookeeper = $(call modules-of,matrix/$(1),$$(FLAGS_$(1)),$(DEBIAN)/$(1),$(MULTIARCH))
$(foreach suite,trixie sid,$(eval $(call with-libzookeeper,$(suite))))


# --- cells ----------------------------------------------------------------------

# $(call version,<suite>,<package>): the upstream version of an unpacked package
version = $$(sed -n 's/^$(2) \([0-9]*:\)\?\([0-9.]*\).*/\2/p' $(DEBIAN)/$(1)/packages)

# $(call with-packages,<build>,<folder>,<Lua's version>,<architecture>): as `with`, but the other
# modules are those of the unpacked packages
share = $(1)/usr/share/lua/$(2)/?.lua;$(1)/usr/share/lua/$(2)/?/init.lua
with-packages = LUA_PATH="lua/?.lua;lua/?/init.lua;./?.lua;$(call share,$(2),$(3))" \
	LUA_CPATH="$(BUILD)/$(1)/?.so;$(2)/usr/lib/$(4)/lua/$(3)/?.so"

# $(call cell,<Lua>,<name and version that it must run with>,<specs, if others>)
cell = WANT="$(2)" ZKLOCK_LUA=$(1) ZKLOCK_TARGET=$@ rig/zookeeper run -t 200 -- \
	sh -ec '$(1) spec/matrix/runs_with.lua; exec "$$@"' - \
	$(1) $(BUSTED) $(or $(TAGS),$(UNTIMED)) $(or $(SPEC),$(3),$(MATRIX_SPECS))

matrix-own: $(BUILD)/5.4/zklock/core.so $(RIG)
	$(call with,5.4) $(call cell,$(LUA),Lua $(LUA_VERSION))

matrix-server-trixie matrix-server-sid: \
matrix-server-%: $(DEBIAN)/%/packages $(BUILD)/5.4/zklock/core.so $(RIG)
	$(call with,5.4) ZOOKEEPER_JARS=$(<D)/usr/share/java \
		$(call cell,$(LUA),server $(call version,$*,libzookeeper-java))

matrix-library-trixie: \
matrix-library-%: $(DEBIAN)/%/packages $(BUILD)/matrix/%/zklock/core.so $(RIG)
	$(call with,matrix/$*) LD_LIBRARY_PATH=$(<D)/usr/lib/$(MULTIARCH) \
		$(call cell,$(LUA),libzookeeper $(call version,$*,libzookeeper-mt2))

# Lua, libzookeeper and server of that release.
matrix-lua-sid: $(DEBIAN)/sid-run/packages $(BUILD)/matrix/sid/zklock/core.so $(RIG)
	$(call with-packages,matrix/sid,$(<D),5.5,$(MULTIARCH)) \
	ZOOKEEPER_JARS=$(DEBIAN)/sid/usr/share/java $(call cell,$(<D)/run/lua5.5,Lua 5.5,$(MATRIX_LUA_SPECS))

# nginx, its Lua module, LuaJIT and libzookeeper of that release.
matrix-nginx-trixie matrix-nginx-sid: \
matrix-nginx-%: $(DEBIAN)/%-run/packages $(BUILD)/5.1/zklock/core.so $(RIG)
	$(call with,5.1) NGINX=$(<D)/run/nginx NGINX_MODULES=$(<D)/usr/lib/nginx/modules \
		NGINX_LUA=$(<D)/usr/share/lua/5.1 $(call cell,$(LUAJIT),lua-nginx-module \
		$(call version,$*-run,libnginx-mod-http-lua),$(MATRIX_NGINX_SPECS))

# Curator, kazoo and go-zookeeper of that release, beside zklock.
matrix-peers-sid: $(DEBIAN)/peers/packages $(BUILD)/5.4/zklock/core.so $(RIG)
	@$(MAKE) test-neighbours CLIENTS=$(<D)
