# nginx.mk - make test-nginx: the specs inside a throwaway nginx; make bench-nginx: what
# waiting there costs.
# Included by the top Makefile; all paths are from the top of the tree.
#
# NGINX and NGINX_MODULES (in the environment) name another nginx: its program, and the folder of
# its loadable modules, if the Lua module is one.

.PHONY: test-nginx bench-nginx

test-nginx: $(BUILD)/5.1/zklock/core.so $(RIG)
	$(call with,5.1) ZKLOCK_LUA=$(LUAJIT) ZKLOCK_TARGET=$@ rig/zookeeper run -t 200 -- \
		$(LUAJIT) $(BUSTED) $(TAGS) $(or $(SPEC),spec/nginx)

bench-nginx: setup-tests
	@$(MAKE) --no-print-directory -s $(BUILD)/5.1/zklock/core.so $(RIG)
	@$(call with,5.1) rig/zookeeper run -- $(LUAJIT) bench/nginx.lua

# The flash sale on MariaDB instead of SQLite: not in make test, as it installs a database.
.PHONY: test-http-mysql

test-http-mysql: setup-tests
	rig/packages http mysql
	ZKLOCK_STORE=mysql $(MAKE) --no-print-directory test-nginx SPEC=spec/nginx/sale_spec.lua
