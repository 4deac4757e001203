# arm64.mk - tests zklock cross-built for arm64, and run by qemu-user: C tests, simulator, specs on
# a server in memory. Lua and libzookeeper are this release's packages of that architecture, which
# rig/unpack unpacks below build/debian.

ARM64 = $(DEBIAN)/arm64
ARM64_RUN = $(DEBIAN)/arm64-run
CODENAME = $(shell sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
QEMU = qemu-aarch64 -L /usr/aarch64-linux-gnu

test-arm64:
	@rig/packages tests arm64
	$(MAKE) test-core-arm64 test-sim-arm64 test-lua-memory-arm64-5.4 \
		test-lua-memory-arm64-5.1

unpack-arm64 = $(CODENAME):arm64 $(@D) liblua5.4-dev libluajit2-5.1-dev libzookeeper-mt2 \
	libzookeeper-mt-dev
unpack-arm64-run = -d $(CODENAME):arm64 $(@D) lua5.4 luajit2 libzookeeper-mt2 lua-busted lua-socket \
	lua-cqueues lua-luv lua-copas

FLAGS_arm64/5.4 = -I$(ARM64)/usr/include/lua5.4 -I$(ARM64)/usr/include/aarch64-linux-gnu
FLAGS_arm64/5.1 = -I$(ARM64)/usr/include/luajit-2.1
$(foreach build,arm64/5.4 arm64/5.1,\
	$(eval $(call modules-of,$(build),$$(FLAGS_$(build)),$(ARM64),aarch64-linux-gnu)))

$(BUILD)/arm64/%: CC = aarch64-linux-gnu-gcc
$(BUILD)/arm64/%: AR = aarch64-linux-gnu-ar

$(eval $(call programs,$(BUILD)/arm64/tests,$$(CFLAGS)))
$(eval $(call programs,$(BUILD)/arm64/sim,-O2 -g $(TABLES)))

test-core-arm64: $(addprefix $(BUILD)/arm64/tests/,$(CORE_TESTS))
	@RUNNER="$(QEMU)" spec/core/run $^

# The same seed gives the same run as on this machine, byte for byte.
test-sim-arm64: $(BUILD)/arm64/sim/sim $(BUILD)/sim/sim
	$(QEMU) $< seeds 1 10000
	$(QEMU) $< replay 4711 >$<.replay
	$(BUILD)/sim/sim replay 4711 | cmp - $<.replay

# The first test would see qemu's own threads, and the second would preload into the machine's
# programs, too. In the last two a forked process starts a thread, at which qemu 7.2 aborts.
NOT_ON_QEMU = --filter-out='signals are blocked in every thread' \
	--filter-out='while a handle is being made by a slow thread' \
	--filter-out='a server in memory is not there' \
	--filter-out='a server in memory may be opened by each of many children'

# $(call in-memory-on-arm64,<build>,<lua>)
in-memory-on-arm64 = @export CC=aarch64-linux-gnu-gcc \
	C_INCLUDE_PATH=$(ARM64)/usr/include/aarch64-linux-gnu; \
	$(call with-packages,arm64/$(1),$(ARM64_RUN),$(1),aarch64-linux-gnu) \
	ZKLOCK_LUA=$(ARM64_RUN)/run/$(2) ZKLOCK_SERVER=memory ZKLOCK_TARGET=$@ \
	$(ARM64_RUN)/run/$(2) $(BUSTED) --exclude-tags=nginx,server $(or $(TAGS),$(UNTIMED)) \
		$(NOT_ON_QEMU) $(or $(SPEC),$(call runs,memory))

test-lua-memory-arm64-5.4 test-lua-memory-arm64-5.1: test-lua-memory-arm64-%: \
		$(ARM64_RUN)/packages $(BUILD)/arm64/%/zklock/core.so
	$(call in-memory-on-arm64,$*,$(if $(filter 5.4,$*),lua5.4,luajit))
