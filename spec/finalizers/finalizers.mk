# finalizers.mk - finalizers that call what the reference allows (storm.lua), by a Lua 5.4 that
# collects at each allocation, under AddressSanitizer, and by LuaJIT with its collector at its
# quickest. That Lua 5.4 is Debian's source, built with a switch for tests that its packages do not
# have.

HARD_LUA = $(BUILD)/finalizers/lua

$(HARD_LUA)/src/lua.c: rig/source
	rm -rf $(HARD_LUA)
	rig/source lua5.4 $(HARD_LUA)
	touch $@

$(BUILD)/finalizers/lua5.4: $(HARD_LUA)/src/lua.c
	$(CC) -std=gnu11 -O2 -g -fsanitize=address$(comma)undefined -fno-sanitize=undefined \
		-DHARDMEMTESTS -DLUA_COMPAT_5_3 -DLUA_USE_POSIX -DLUA_USE_DLOPEN -Wl,-E -o $@ \
		$(filter-out %/luac.c,$(wildcard $(HARD_LUA)/src/*.c)) -lm -ldl

# Each allocation is by another way through Lua: of what was freed, and of the stacks that did it,
# the sanitizer keeps little, or it takes gigabytes.
STORM = spec/finalizers/storm.lua

test-finalizers: $(BUILD)/finalizers/lua5.4 $(BUILD)/asan/zklock/core.so \
		$(BUILD)/5.1/zklock/core.so
	ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=16:malloc_context_size=4 UBSAN_OPTIONS=print_stacktrace=1 \
		$(call with,asan) timeout -k 5 1200 $(BUILD)/finalizers/lua5.4 $(STORM)
	$(call with,5.1) timeout -k 5 600 $(LUAJIT) $(STORM)
