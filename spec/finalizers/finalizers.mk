# finalizers.mk - finalizers that call all that the reference allows (storm.lua), in a Lua 5.4 that
# collects at each allocation, under AddressSanitizer, and in LuaJIT with its collector at its
# quickest. That Lua 5.4 is built from Debian's source, with a switch that its packages lack.

HARD_LUA = $(BUILD)/finalizers/lua

$(HARD_LUA)/src/lua.c: rig/source
	rm -rf $(HARD_LUA)
	rig/source lua5.4 $(HARD_LUA)
	touch $@

$(BUILD)/finalizers/lua5.4: $(HARD_LUA)/src/lua.c
	$(CC) -std=gnu11 -O2 -g -fsanitize=address$(comma)undefined -fno-sanitize=undefined \
		-DHARDMEMTESTS -DLUA_COMPAT_5_3 -DLUA_USE_POSIX -DLUA_USE_DLOPEN -Wl,-E -o $@ \
		$(filter-out %/luac.c,$(wildcard $(HARD_LUA)/src/*.c)) -lm -ldl

# The sanitizer keeps little freed memory and short stacks, or it would take gigabytes.
STORM = spec/finalizers/storm.lua

# The limits are against a loop and a deadlock; no other process decides a verdict.
test-finalizers: $(BUILD)/finalizers/lua5.4 $(BUILD)/asan/zklock/core.so \
		$(BUILD)/5.1/zklock/core.so
	ulimit -t 1200; ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=16:malloc_context_size=4 \
		UBSAN_OPTIONS=print_stacktrace=1 $(call with,asan) \
		timeout -k 5 7200 $(BUILD)/finalizers/lua5.4 $(STORM)
	ulimit -t 600; $(call with,5.1) timeout -k 5 7200 $(LUAJIT) $(STORM)
