rockspec_format = "3.0"
package = "zklock"
version = "scm-1"

source = {
   url = "file://zklock-scm.tar.gz", -- `make dist` writes that of the archive
}

description = {
   summary = "Distributed locks on ZooKeeper for Lua and LuaJIT",
   detailed = [[
      Fair mutexes on Apache ZooKeeper: one round trip to acquire, none to
      release, fencing tokens, and a holder that is told when it may have lost
      the lock. Shares its queue with Curator and go-zookeeper.
   ]],
   license = "MIT",
   labels = { "zookeeper", "lock", "mutex", "distributed", "openresty" },
}

supported_platforms = { "linux" }

-- The command needs argparse, which is no dependency, because the library needs nothing. The
-- command says so if it is missing.
dependencies = {
   "lua >= 5.1, < 5.6",
}

external_dependencies = {
   ZOOKEEPER = {
      header = "zookeeper/zookeeper.h",
      library = "zookeeper_mt",
   },
}

build = {
   type = "make",
   build_pass = false, -- `make install` builds
   variables = {
      CFLAGS = "$(CFLAGS)",
      LUA = "$(LUA)",
      LUA_INCDIR = "$(LUA_INCDIR)",
      ZOOKEEPER_INCDIR = "$(ZOOKEEPER_INCDIR)",
      ZOOKEEPER_LIBDIR = "$(ZOOKEEPER_LIBDIR)",
      PREFIX = "$(PREFIX)",
      LUADIR = "$(LUADIR)",
      LIBDIR = "$(LIBDIR)",
      BINDIR = "$(BINDIR)",
      TYPESDIR = "$(PREFIX)/types",
   },
   copy_directories = { "docs", "examples" },
}

-- The command names its own Lua. A wrapper of LuaRocks' would start plain Lua 5.1 for LuaJIT.
deploy = {
   wrap_bin_scripts = false,
}

test = {
   type = "command",
   command = "make test",
}
