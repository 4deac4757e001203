--- test_names(path) returns the full names of a spec's tests, a line each, without running them.

local rig = require "spec.rig"

local LUA = os.getenv "ZKLOCK_LUA" or "lua5.4"


return function(path)
    return rig.shell('env ZKLOCK_SERVER=memory %s "$(command -v busted)" --list %s', LUA, path)
end
