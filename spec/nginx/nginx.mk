# nginx.mk - the specs inside a throwaway nginx. NGINX and NGINX_MODULES (in the environment) name
# another nginx: its program, and the folder of its loadable modules, if the Lua module is one.

test-nginx: $(BUILD)/5.1/zklock/core.so $(RIG)
	$(call with,5.1) ZKLOCK_LUA=$(LUAJIT) ZKLOCK_TARGET=$@ rig/zookeeper run -t 200 -- \
		$(LUAJIT) $(BUSTED) $(TAGS) $(or $(SPEC),spec/nginx)

# The flash sale on MariaDB instead of SQLite: not in make test, as it installs a database.
test-http-mysql: setup-tests
	rig/packages http mysql
	ZKLOCK_STORE=mysql $(MAKE) --no-print-directory test-nginx SPEC=spec/nginx/sale_spec.lua
