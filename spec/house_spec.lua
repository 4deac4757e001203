--- [lua] The rules of the house hold, and a break of each rule is noticed.

local files = require "spec.files"
local house = require "spec.house"
local rig = require "spec.rig"
local weights = require "spec.weights"


local function tree()
    local found = {}
    local list = rig.shell "find src lua bin -name '*.[ch]' -o -name '*.lua' -o -path 'bin/*'"
    for path in list:gmatch "[^\n]+" do
        found[path] = files.read(path)
    end
    return found
end


local function circle(count)
    local found = {}
    for i = 1, count do
        local text = "void zkl_fn%d(void) {\n    zkl_fn%d();\n}\n"
        found[("src/zookeeper/file%d.c"):format(i)] = text:format(i, i % count + 1)
    end
    return found
end


describe("the house", function()
    it("the tree keeps its rules", function()
        assert.same({}, house.faults(tree()))
    end)

    it("each spec tells its subject at its top (make specs)", function()
        assert.equal("", rig.shell("head -qn1 $(find spec docs -name '*_spec.lua') | "
                                   .. "grep -v '^--'; true"))
    end)

    it("a room above its target of lines gives a warning", function()
        for _, warning in ipairs(weights.excess(weights.count())) do
            print("warning: " .. warning)
        end
        assert.same({ "library: 34501 lines, 34500 wanted" },
                    weights.excess{ library = 34501, documents = 9500 })
    end)
end)


describe("a break of a rule", function()
    local function expect(planted, ...)
        assert.same({ ... }, house.faults(planted))
    end

    it("an include that points up is named", function()
        expect({ ["src/core/name.c"] = '#include "../session/session.h"\n' },
             "src/core/name.c includes session/session.h: src/core may include no other room")
        expect({ ["src/shell/bell.c"] =
                     '#include <time.h>\n\n#include "../zookeeper/internal.h"\n' },
             "src/shell/bell.c includes zookeeper/internal.h: src/shell may include only "
             .. "session/session.h, core")
    end)

    it("an include of another room's inner header is named", function()
        expect{ ["src/shell/timer.c"] = '#include "../session/session.h"\n#include "runtime.h"\n' }
        expect({ ["src/shell/timer.c"] = '#include "../session/stake.h"\n' },
             "src/shell/timer.c includes session/stake.h: src/shell may include only "
             .. "session/session.h, core")
    end)

    it("a room of C without a rule is named", function()
        expect({ ["src/util/list.h"] = "" }, "src/util/list.h: the room util has no rule")
    end)

    it("a header of Linux alone is named outside of src/shell/linux.c", function()
        expect{ ["src/shell/linux.c"] = "#include <sys/prctl.h>\n" }
        expect({ ["src/child/minder.c"] = "#include <sys/prctl.h>\n" },
             "src/child/minder.c includes <sys/prctl.h>: what only Linux has is in "
             .. "src/shell/linux.c")
    end)

    it("a thread, clock or socket in a pure room is named", function()
        expect({ ["src/core/clock.c"] = "#include <time.h>\n" },
             "src/core/clock.c includes <time.h>: src/core is pure")
        expect({ ["src/session/rpc.h"] = "#include <stdbool.h>\n#include <pthread.h>\n" },
             "src/session/rpc.h includes <pthread.h>: src/session is pure")
    end)

    it("a require that points up is named", function()
        expect({ ["lua/zklock/value/path.lua"] = 'local wait = require "zklock.waiting.wait"\n' },
             "lua/zklock/value/path.lua names zklock.waiting.wait: the room value may require "
             .. "only core")
        expect({ ["lua/zklock/object/lock.lua"] = 'local sale = require "zklock.seckill"\n' },
             "lua/zklock/object/lock.lua names zklock.seckill: the room object may require "
             .. "only waiting, value, core")
        expect{ ["lua/zklock/object/lock.lua"] = 'Lock.__name = "zklock.lock"\n' }
    end)

    it("a module outside of the rooms is named", function()
        expect({ ["lua/zklock/lock.lua"] = "return {}\n" }, "lua/zklock/lock.lua is in no room")
    end)

    it("a string with the name of a module that the file may not require is reported", function()
        expect({ ["lua/zklock/command/ls.lua"] = 'local verbs = { "zklock.seckill.verb" }\n' },
             "lua/zklock/command/ls.lua names zklock.seckill.verb: the room command may require "
             .. "only zklock, object, waiting, value, core, system, throwaway, child")
        expect{ ["bin/zklock"] = 'local more = { "zklock.seckill.verb" }\n',
              ["lua/zklock/waiting/driver/luv.lua"] = '-- not as "zklock.engine" does it\n' }
    end)

    it("a require of zklock.child outside the command line is reported", function()
        expect({ ["lua/zklock/waiting/driver/ngx.lua"] = 'local child = require "zklock.child"\n' },
             "lua/zklock/waiting/driver/ngx.lua names zklock.child: the room waiting may require "
             .. "only value, core")
        expect{ ["lua/zklock/command/run.lua"] = 'local child = require "zklock.child"\n' }
    end)

    it("a file that is too long is named", function()
        expect{ ["lua/zklock/seckill/plan.lua"] = ("\n"):rep(500) }
        expect({ ["lua/zklock/seckill/plan.lua"] = ("\n"):rep(501) },
             "lua/zklock/seckill/plan.lua has 501 lines: a file has at most 500")
    end)

    it("too many flags in the structs of pure rooms are named", function()
        local function planted(flags)
            local text = "struct a {\n    bool one, two; /* bool three; */\n    union {\n"
                .. "        struct { bool four; };\n    };\n%s};\nbool shared;\n"
            return { ["src/core/a.h"] = text:format(""),
                     ["src/session/b.c"] = text:format(("    bool flag;\n"):rep(flags - 6)),
                     ["src/shell/c.h"] = text:format "" }
        end
        expect(planted(50))
        expect(planted(51),
             "the structs of src/core and src/session have 51 flags: at most 50 may be")
    end)

    it("a large circle of sources is named", function()
        expect(circle(6))
        expect(circle(7), "src/zookeeper has a circle of 7 files, which call each other: at most 6 "
            .. "may: src/zookeeper/file1.c src/zookeeper/file2.c src/zookeeper/file3.c "
            .. "src/zookeeper/file4.c src/zookeeper/file5.c src/zookeeper/file6.c "
            .. "src/zookeeper/file7.c")
    end)

    it("a circle that an inline function of a header hides is found", function()
        local planted = circle(7)
        planted["src/zookeeper/file3.c"] = "void zkl_fn3(void) {\n    pass();\n}\n"
        planted["src/zookeeper/internal.h"] =
            "\nstatic inline void pass(void) {\n    zkl_fn4();\n}\n"
        assert.equal(7, #house.circle(planted, "zookeeper"))
        planted["src/zookeeper/internal.h"] = nil
        assert.equal(1, #house.circle(planted, "zookeeper"))
    end)
end)
