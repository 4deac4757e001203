--- [lua] Installed files and packages, and the lanes of continuous integration.

local write = require("spec.files").write
local rig = require "spec.rig"

local version = require("zklock")._VERSION
local release = "zklock-" .. version

local function rockspec(path)
    local env = {}
    local chunk = assert(loadfile(path, "t", env))
    if setfenv then setfenv(chunk, env) end -- luacheck: ignore (Lua 5.1)
    chunk()
    return env
end


local function files(pattern)
    local found = {}
    for name in rig.shell("find %s | sort", pattern):gmatch("[^\n]+") do
        found[#found + 1] = name
    end
    return found
end


describe("the rockspec", function()
    local scm = "rockspec/zklock-scm-1.rockspec"

    it("the rockspec admits each Lua that zklock works with", function()
        local least, below = rockspec(scm).dependencies[1]:match("^lua >= ([%d.]+), < ([%d.]+)$")
        assert.equal("5.1", least)
        assert.equal("5.6", below)
    end)

    it("luarocks lint has no warning", function()
        assert.equal("", rig.shell("luarocks lint %s 2>&1", scm))
    end)

    it("the rockspec passes compiler, flags and folders on to make #slow", function()
        local folder = rig.shell("mktemp -d"):match "[^\n]+"
        finally(function() rig.shell("rm -rf %s", folder) end)
        write(folder .. "/cc", ([[
            #!/bin/sh
            echo "$*" >>%s/log
            while [ "$1" != -o ]; do shift; done
            echo >"$2"]]):format(folder):gsub("\n +", "\n"):sub(2))
        rig.shell("mkdir -p %s/lib %s/include/zookeeper && touch %s/lib/libzookeeper_mt.a "
            .. "%s/include/zookeeper/zookeeper.h && chmod +x %s/cc", folder, folder, folder, folder,
            folder)
        local printed = rig.shell("env -u MAKEFLAGS LDFLAGS=-Wl,--own luarocks --lua-version 5.4 "
            .. "--tree %s/tree make %s CC=%s/cc CFLAGS='-Os -DOWN' ZOOKEEPER_DIR=%s 2>&1", folder,
            scm, folder, folder)
        local log = rig.shell("cat %s/log 2>&1 || true", folder)
        local line = log:match "[^\n]*core%.so[^\n]*" or printed
        for _, word in ipairs{ "-Os -DOWN", "-I" .. folder .. "/include", "-Wl,--own",
                               "-L" .. folder .. "/lib", "-I/usr/include/lua5.4" } do
            assert.is_truthy(line:find(word, 1, true), line)
        end
    end)

    it("the version is semver, and has a heading in the change log", function()
        assert.is_truthy(version:find("^%d+%.%d+%.%d+$"))
        local log = rig.shell("cat CHANGELOG.md")
        assert.equal("Unreleased", log:match("\n## %[([^%]]+)%]"))
        assert.is_truthy(log:find(("\n## [%s]"):format(version), 1, true))
    end)

    it("the rock carries the documents and the examples", function()
        assert.same({ "docs", "examples" }, rockspec(scm).build.copy_directories)
    end)
end)


describe("the asserts of the sources", function()
    local function commands(target)
        return rig.shell("env -u MAKEFLAGS make -nB %s 2>&1", target)
    end

    it("installed modules have no asserts", function()
        local text = commands "install-files DESTDIR=/nowhere"
        local _, compiled = text:gsub("%-std=c11 ", "")
        local _, without = text:gsub("%-std=c11 [^\n]*%-DNDEBUG ", "")
        assert.is_true(compiled > 0)
        assert.equal(compiled, without)
    end)

    it("all builds for tests have asserts", function()
        local targets = { "all", "build/asan/zklock/core.so", "build/tsan/zklock/core.so",
                          "test-core", "test-core-asan", "build/sim/sim", "build/sim-asan/sim",
                          "build/fuzz/session_fuzz", "build/fuzz/reply_fuzz", "test-alloc",
                          "test-memory" }
        for _, target in ipairs(targets) do
            local text = commands(target)
            assert.truthy(text:find("-std=c11", 1, true), target)
            assert.is_nil(text:find("NDEBUG", 1, true), target)
        end
    end)
end)


describe("make install", function()
    local function install(variables)
        local folder = ("build/install-%d"):format(rig.pid)
        finally(function() rig.shell("rm -rf %s", folder) end)
        variables = variables:gsub("FOLDER", folder)
        return folder, rig.shell("env -u MAKEFLAGS make -s install BUILD=%s/build CFLAGS=-O0 %s "
            .. "2>&1", folder, variables)
    end

    it("make install takes a relative DESTDIR and PREFIX, and LUA_VERSION, without a warning #slow",
       function()
        local folder, printed = install "DESTDIR=FOLDER/ PREFIX=usr LUA_VERSION=5.3"
        assert.equal("", printed)
        assert.equal(rig.shell("cd lua && find zklock ! -type d | sort"),
                     rig.shell("cd %s/usr/share/lua/5.3 && find * ! -type d | sort", folder))
        assert.equal("zklock/child.so\nzklock/core.so\n",
                     rig.shell("cd %s/usr/lib/lua/5.3 && ls */*", folder))
        local written = { manual = "man/man1/zklock.1", types = "zklock/types/zklock.lua" }
        for script, file in pairs(written) do
            assert.equal(rig.shell("lua5.4 rig/%s.lua", script),
                         rig.shell("cat %s/usr/share/%s", folder, file))
        end
        assert.equal("usr\n", rig.shell("ls %s", folder))
        local start = 'exec /usr/bin/lua5.3 "$(readlink -f "$0")" "$@"\n'
        assert.equal(start, rig.shell("sed -n /^exec/p %s/usr/bin/zklock", folder))
    end)

    it("make install takes spaces in PREFIX, DESTDIR and TMPDIR, and a relative LUA #slow",
       function()
        local folder, printed = install("'DESTDIR=FOLDER/in here/' 'PREFIX=/my tree' CFLAGS=-O0 "
            .. "LUA=build/lua-link TMPDIR='a b' $(ln -sf $(command -v lua5.4) build/lua-link)")
        assert.equal("", printed)
        assert.equal("in here\n", rig.shell("ls %s | grep -v build", folder))
        assert.equal("bin\nlib\nshare\n", rig.shell("ls '%s/in here/my tree'", folder))
        local start = rig.shell("sed -n /^exec/p '%s/in here/my tree/bin/zklock'", folder)
        assert.matches("^exec /[^ ]*/build/lua%-link ", start)
    end)

    it("the command starts LuaJIT where LUA is plain Lua 5.1, also by a link #slow", function()
        local folder = install("PREFIX=FOLDER LUA_VERSION=5.1 LUA=lua5.1 "
            .. "LUA_INCDIR=/usr/include/luajit-2.1")
        assert.matches("^exec /usr/bin/luajit ", rig.shell("sed -n /^exec/p %s/bin/zklock", folder))
        assert.equal("zklock " .. version .. "\n", rig.shell("ln -s $PWD/%s/bin/zklock %s/link && "
            .. "env -u LUA_PATH -u LUA_CPATH -C / $PWD/%s/link --version 2>&1", folder, folder,
            folder))
    end)

    it("make install writes no command where no Lua loads the module, and tells that #slow",
       function()
        local folder, printed = install("PREFIX=FOLDER LUA_VERSION=5.2 LUA=lua5.3")
        assert.matches("^zklock: no command, for none of these loads the module: lua5.3 ", printed)
        assert.equal("", rig.shell("ls %s/bin 2>/dev/null", folder))
    end)

    it("a warning fails developers' builds, and not make install", function()
        local function is_strict(target)
            local text = rig.shell("env -u MAKEFLAGS make -nB %s 2>&1", target)
            assert.truthy(text:find("-Wall", 1, true), target)
            return text:find("-Werror", 1, true) ~= nil
        end
        assert.is_false(is_strict "install-files DESTDIR=/nowhere")
        assert.is_true(is_strict "all")
    end)
end)


describe("a module that was built for another Lua", function()
    for lua, other in pairs{ luajit = "lua5.1", ["lua5.1"] = "5.1" } do
        it("the module's error in " .. lua .. " tells how to build it for that Lua", function()
            local build = ("build/%s/zklock/core.so"):format(other)
            rig.shell("env -u MAKEFLAGS make -s %s", build)
            local text = rig.shell("LUA_CPATH='build/%s/?.so' %s -e 'require \"zklock.core\"' 2>&1",
                                   other, lua)
            assert.matches("zklock was built for [%w .]+, and this is [%w .]+: build it with "
                .. "that one's headers, as by LUA_INCDIR=/usr/include/" .. lua, text)
        end)
    end
end)


describe("the packages of `rig/packages http mysql`", function()
    it("the packages have all that mariadb-install-db needs #slow", function()
        local folder = rig.shell("mktemp -d"):match("[^\n]+")
        finally(function() rig.shell("rm -rf %s", folder) end)
        local output = rig.shell("mariadb-install-db --no-defaults --user=$(id -un) "
            .. "--datadir=%s/data --skip-test-db 2>&1 && echo done", folder)
        assert.is_truthy(output:find("done\n$"), output)
    end)
end)


describe("the archive of make dist", function()
    local folder
    setup(function() folder = rig.shell("mktemp -d"):match("[^\n]+") end)
    teardown(function() rig.shell("rm -rf %s", folder) end)

    -- The archive that `make dist` leaves in `build`, and its list of files and of links.
    local function dist(tree, build)
        rig.shell("cd %s && env -u MAKEFLAGS make -s dist OVERWEIGHT=1 BUILD=%s 2>&1", tree, build)
        local where = build:find("^/") and build or tree .. "/" .. build
        local archive = ("%s/%s.tar.gz"):format(where, release)
        return archive, "\n" .. rig.shell("tar -tzf %s | grep -v '/$' | LC_ALL=C sort; "
            .. "tar -tvzf %s | grep -o '[^ ]* -> .*'", archive, archive)
    end

    it("the archive has the same files when made in git, and again from the unpacked archive #slow",
       function()
        local archive, listed = dist(".", folder .. "/first")
        for _, path in ipairs{ "Makefile", "README.md", "docs/reference/README.md",
                               "src/lua/module.c", "lua/zklock/init.lua", "rig/rock",
                               ".ci/suite", "types/zklock.lua" } do
            assert.is_truthy(listed:find("\n" .. release .. "/" .. path .. "\n", 1, true), path)
        end
        assert.is_nil(listed:find("%.git\n"))
        rig.shell("tar -xzf %s -C %s", archive, folder)
        for _ = 1, 2 do
            local _, again = dist(folder .. "/" .. release, "build")
            assert.equal(listed, again)
        end
    end)

    it("the rockspec beside the archive names it", function()
        local archive = dist(".", folder .. "/first")
        local path = ("%s/first/%s-1.rockspec"):format(folder, release)
        local scm = rockspec "rockspec/zklock-scm-1.rockspec"
        scm.version, scm.source.url = version .. "-1", "file://" .. archive
        assert.same(scm, rockspec(path))
    end)
end)


describe("make", function()
    it("a command on a throwaway server runs although the input is closed #slow", function()
        assert.equal("on\n", rig.shell "rig/zookeeper run -- echo on <&- 2>&1")
    end)

    it("make sets a locale, and a PATH with the folder of Debian's servers", function()
        assert.equal("C.UTF-8 /usr/bin:/bin:/usr/sbin\n", rig.shell(
            "env -u MAKEFLAGS PATH=/usr/bin:/bin LC_ALL=de_DE.UTF-8 make -s "
            .. "--eval 'here: ; @echo $$LC_ALL $$PATH' here"))
    end)
end)


describe("continuous integration", function()
    -- The specs that lanes of that name run on real servers.
    local function run_by(lanes)
        local specs = {}
        for lane in rig.shell("cat .ci/suite"):gmatch("test%-" .. lanes .. "%-%a+") do
            local recipe = rig.shell("env -u MAKEFLAGS -u SPEC make -n %s", lane)
            for command in recipe:gmatch "[^\n]*/busted [^\n]*" do
                for path in command:gmatch("%S+_spec%.lua") do specs[#specs + 1] = path end
            end
        end
        table.sort(specs)
        return specs
    end

    local function all_but(others)
        local specs = files("spec docs -name '*_spec.lua' ! -path 'spec/nginx/*' " .. others)
        table.sort(specs)
        return specs
    end

    it("the lanes run each spec once on Lua 5.4, and its slow tests once", function()
        assert.same(all_but "", run_by "quick")
        assert.same(all_but "", run_by "slow")
    end)

    it("the lanes run each spec once where its first line names LuaJIT or a sanitizer", function()
        for lane, also in pairs{ luajit = "-path 'docs/*'", asan = "-false", tsan = "-false" } do
            local said = "\\( %s -o -exec grep -q '^--- .lua .*%s.*] ' {} ';' \\) -print"
            assert.same(all_but(said:format(also, lane)), run_by(lane))
        end
    end)

    it("the first lines of specs name only known lanes", function()
        local known = { lua = true, luajit = true, asan = true, tsan = true, memory = true,
                        worlds = true, older = true, ["lua5.1"] = true, tls = true }
        for _, path in ipairs(all_but "! -path 'docs/*'") do
            local lanes = rig.shell("head -n 1 %s", path):match "^%-%-%- %[(lua.-)%] %S"
            for lane in assert(lanes, path):gmatch "%S+" do assert.is_true(known[lane], path) end
        end
    end)
end)


describe("the table of spec/matrix/run", function()
    -- The final table of spec/matrix/run, and its status, for cells with these ends.
    local function table_of(cells)
        local folder = rig.shell("mktemp -d"):match "[^\n]+"
        local script, names = { "#!/bin/sh", "case $2 in" }, {}
        for _, cell in ipairs(cells) do
            names[#names + 1] = cell[1]
            script[#script + 1] = ("matrix-%s) %s ;;"):format(cell[1], cell[2])
        end
        script[#script + 1] = "esac\n"
        write(folder .. "/make", table.concat(script, "\n"))
        local output = rig.shell("chmod +x %s/make; PATH=%s:$PATH spec/matrix/run %s; echo $?",
                                 folder, folder, table.concat(names, " "))
        rig.shell("rm -r %s", folder)
        return output:match "\n\n(.*)$"
    end

    local WELL = "echo runs with: server 1; echo 3 successes / 0 failures / 0 errors / 0 pending"
    local ILL = "echo runs with: server 2; echo 1 success / 1 failure / 1 error / 0 pending; exit 1"
    local ENDED = "echo no spec ran; exit 2"
    local MISSED = "echo rig/unpack: sid cannot be had; exit 2"

    it("the table has each cell's versions and results", function()
        assert.equal("own              server 1: 3 passed, 0 failed\n"
            .. "new              server 2: 1 passed, 2 failed\n"
            .. "4 passed, 2 failed\n1\n", table_of{ { "own", WELL }, { "new", ILL } })
    end)

    it("a cell that ended at once is a failure", function()
        assert.equal("new              ended at once: 0 passed, 1 failed\n0 passed, 1 failed\n1\n",
                     table_of{ { "new", ENDED } })
    end)

    it("missing packages are named, and are no failure beside other cells", function()
        local missed = "sid              not to be had: sid cannot be had\n"
        assert.equal("new              server 1: 3 passed, 0 failed\n" .. missed
            .. "3 passed, 0 failed\n0\n", table_of{ { "new", WELL }, { "sid", MISSED } })
        assert.equal("own              server 1: 3 passed, 0 failed\n" .. missed
            .. "3 passed, 1 failed\n1\n", table_of{ { "own", WELL }, { "sid", MISSED } })
    end)
end)
