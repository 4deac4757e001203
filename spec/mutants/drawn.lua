local checks = require "spec.mutants.checks"
local shell = require "spec.mutants.shell"
local traces = require "spec.mutants.traces"
local FOLDER = os.getenv "BUILD" .. "/mutants/drawn"
local BASE = FOLDER .. "/base"
if arg[1] == "--prepare" then
    shell.must("rm -rf %s && mkdir -p %s && tar -c --exclude=./build --exclude=./.git . | tar -x -C %s", BASE, BASE, BASE)
    shell.must("mkdir -p %s/build && cp -rp build/5.4 build/5.1 build/rig %s/build", BASE, BASE)
    shell.must("cc -std=c11 -D_GNU_SOURCE -O2 -w -I/usr/include/lua5.4 -fPIC -shared -o %s/trace.so spec/mutants/trace.c", FOLDER)
    traces.index(BASE, FOLDER)
elseif arg[1] == "--trace" then
    local index = traces.index(BASE, FOLDER)
    traces.make(BASE, FOLDER, index, checks[arg[2]], arg[3])
end
