--- [lua] Mutants: the place of a row's defect, refused rows, and places for mechanical changes.

local files = require "spec.files"
local mutant = require "spec.mutants.mutant"
local places = require "spec.mutants.places"
local shell = require "spec.mutants.shell"
local switch = require "spec.mutants.switch"
local test_names = require "spec.test_names"

local base, folder = mutant.BASE, nil

before_each(function() folder = shell.must("mktemp -d"):match("%S+") end)
after_each(function()
    shell.must("rm -rf %s", folder)
    mutant.BASE = base
end)


local function write_tree(sources)
    for name, text in pairs(sources) do
        shell.must("mkdir -p %s/src/%s", folder, name:match("^(.*)/"))
        files.write(folder .. "/src/" .. name, text)
    end
    mutant.BASE = folder
end


local ROOM = [[
bool has_room(const struct hall *hall);
bool is_open(const struct hall *hall);

#define SEATS \
    (ROWS * 20)

const char *const names[] = {"stalls", /* below */
                             "circle", NULL};

static const struct row {
    int seats;
} rows[] = {
    {20},
};

enum { ROWS = 30 };

struct hall {
    int taken;
};

/* has_room() { return false; } */
bool has_room(const struct hall *hall) {
    if (hall->taken < SEATS && /* not the balcony */
        !hall->closed)
        return true;
    return false;
}
]]

local OTHER = "static void take(struct hall *hall) {\n    hall->taken++;\n    hall->taken++;\n}\n"


local function row(at, find, replace)
    return { name = "row", at = at, find = find, replace = replace }
end


describe("a mutant", function()
    -- The source with the row's defect, in a tree with another file.
    local function change(defect, text)
        write_tree{ ["core/other.c"] = OTHER, ["room/room.c"] = text }
        local sources = assert(mutant.sources(defect))
        assert.equal("src/room/room.c", mutant.file(defect))
        return sources["src/room/room.c"]
    end

    it("a mutant is placed by tokens, whatever line breaks and comments are between them",
       function()
        local text = change(row("has_room", "SEATS && !hall->closed", " SEATS "), ROOM)
        assert.truthy(text:find("if (hall->taken < SEATS)\n        return true;", 1, true))
    end)

    it("a mutant is placed in a macro, a table or a struct", function()
        assert.truthy(change(row("SEATS", "20", "2"), ROOM):find("(ROWS * 2)", 1, true))
        assert.truthy(change(row("names", "circle", "pit"), ROOM):find('"pit", NULL};', 1, true))
        assert.truthy(change(row("row", "20", "2"), ROOM):find("    {2},\n};", 1, true))
        assert.truthy(change(row("hall", "int taken", "long taken"), ROOM):find("long taken;"))
    end)

    it("a mutant is in the one of several functions of its name that has the text", function()
        local mine = "static void take(int seats) {\n    book(seats);\n}\n"
        assert.equal("static void take(int seats) {\n    book(0);\n}\n",
                     change(row("take", "book(seats)", "book(0)"), mine))
    end)

    it("each change of a mutant is placed by the text of the unchanged tree", function()
        local defect = row("has_room", "return true", "return false")
        defect.also = { { find = "return false", replace = "return true" },
                        { at = "SEATS", find = "20", replace = "2" } }
        local text = change(defect, ROOM)
        assert.truthy(text:find("return false;\n    return true;\n}", 1, true))
        assert.truthy(text:find("(ROWS * 2)", 1, true))
    end)
end)


describe("a refused row", function()
    local function reason_of(at, find, replace)
        write_tree{ ["room/room.c"] = ROOM, ["core/other.c"] = OTHER }
        local sources, why = mutant.sources(row(at, find, replace))
        assert.is_nil(sources)
        return why
    end

    it("a row whose text occurs twice is refused", function()
        assert.equal("row: its text occurs 2 times in take, not once:\nhall->taken++",
                     reason_of("take", "hall->taken++", ""))
    end)

    it("a row whose text occurs nowhere, only in part of a word, or elsewhere, is refused",
       function()
        for _, find in ipairs{ "closed++", "hall->tak", "hall->taken++", " " } do
            assert.equal("row: its text occurs 0 times in has_room, not once:\n" .. find,
                         reason_of("has_room", find, ""))
        end
    end)

    it("a row whose place has no definition is refused", function()
        for _, name in ipairs{ "has_rooms", "is_open" } do
            assert.equal("row: src has no function, macro, table or struct " .. name,
                         reason_of(name, "hall", ""))
        end
    end)

    it("a row that changes only space is refused", function()
        assert.equal("row: it changes nothing in has_room",
                     reason_of("has_room", "return true;", "return  true;"))
    end)
end)


it("each row of the tables is a defect of the tree as it is", function()
    mutant.BASE = "."
    local refusals = {}
    for _, each in ipairs(mutant.rows()) do
        local sources, why = mutant.sources(each)
        if not sources then refusals[#refusals + 1] = why end
    end
    assert.same({}, refusals)
end)


local COMPILE = ("%s -std=c11 -D_GNU_SOURCE -fsyntax-only -I%s -I%s " ..
                 "-Werror=implicit-function-declaration"):format(
    os.getenv "CC" or "cc", os.getenv "LUA_INCDIR" or "/usr/include/lua5.4",
    os.getenv "ZOOKEEPER_INCDIR" or "/usr/include")

local function sources_to_compile(file)
    return file:find "%.c$" and file or file:match "^(.*/)" .. "*.c"
end


it("each row of the tables compiles #slow", function()
    mutant.BASE = "."
    local broken = {}
    shell.must("cp -R src %s", folder)
    for _, each in ipairs(mutant.rows()) do
        local sources = mutant.sources(each)
        for file, text in pairs(sources) do files.write(folder .. "/" .. file, text) end
        for file in pairs(sources) do
            local said, status = shell.run("cd %s && %s %s", folder, COMPILE,
                                           sources_to_compile(file))
            if status ~= 0 then broken[#broken + 1] = each.name .. ": " .. said end
        end
        for file in pairs(sources) do shell.must("cp %s %s/%s", file, folder, file) end
    end
    assert.same({}, broken)
end)


it("each row's tests are in its spec", function()
    local names, missing = {}, {}
    for _, each in ipairs(mutant.rows()) do
        local spec = each.catch and each.catch.spec
        if spec then names[spec] = names[spec] or test_names(spec) end
        for _, test in ipairs(spec and each.catch.tests or {}) do
            if not names[spec]:find(test, 1, true) then
                missing[#missing + 1] = ("%s: %s has no test \"%s\""):format(each.name, spec, test)
            end
        end
    end
    assert.same({}, missing)
end)


describe("a place to change", function()
    local function changes(text, is_c)
        local list = {}
        for i, place in ipairs(places.find(text, is_c)) do
            list[i] = text:sub(1, place.first - 1) .. place.change .. text:sub(place.last + 1)
        end
        return list
    end

    it("a comparison, a connective, a constant or a negation is changed", function()
        assert.same({ "x = a ~= 1 and not b", "x = a == 2 and not b", "x = a == 1 or not b",
                      "x = a == 1 and  b" }, changes "x = a == 1 and not b")
        assert.same({ "x = a <= b || !true;", "x = a < b && !true;", "x = a < b || true;",
                      "x = a < b || !false;" }, changes("x = a < b || !true;", true))
    end)

    it("a call that is a statement is dropped", function()
        assert.same({ "local a = f(b)\n\nc = d" }, changes "local a = f(b)\ng.h(a):i{}\nc = d")
        assert.same({ "if (a) ;\nb = g(a);" }, changes("if (a) f(a);\nb = g(a);", true))
        assert.same({}, changes "local function f(a) end f(a).b = c")
    end)

    it("a returned value is changed", function()
        assert.same({ "if a then return nil end" },
                    changes "if a then return b, function() if c then d = e end end end")
        assert.same({ "return 0;" }, changes("return a(b);", true))
        assert.same({}, changes "do return end return nil")
    end)

    it("comments, texts, asserts and lines of the preprocessor are left alone", function()
        assert.same({}, changes "-- 1\n--[[ 1\n]] a = '1' .. [=[1]] ]=] assert(a == f(1))")
        assert.same({}, changes("#define A \\\n 1\n/* 1 */ a = '1'; // 1\nassert(a == 1);", true))
    end)
end)


describe("a switch", function()
    local SEATS = [[
int seats(int rows, int each) {
    static const int none = 0;
    int all = rows * each;
    if (rows < 1 || all == none) /* closed */
        return -1;
    all -= 2;
    for (int i = 0; i < rows; i++) continue;
    assert(all > 3);
    return all;
}
bool few(const int *all, int most) { return all ? *all <= most : true; }
int what(int a, int b) { return (a & 4) | f(a, b | 1); }
]]

    local function mutants_of(name)
        local list = {}
        for _, site in ipairs(switch.sites(SEATS)) do
            for _, each in ipairs(site.in_ == name and site.mutants or {}) do
                list[#list + 1] = each.after
            end
        end
        return list
    end

    it("a switch changes conditions, bounds, constants and statements", function()
        assert.same({ "rows / each", "rows <= 1 || all == none", "rows < 2 || all == none",
                      "rows < 0 || all == none", "rows < 1 && all == none",
                      "rows < 1 || all != none", "!(rows < 1) || all == none", "", "return -2;",
                      "return -0;", "", "all += 2", "all -= 3", "all -= 1", "1", "i <= rows",
                      "!(i < rows)", "" }, mutants_of "seats")
        assert.same({ "all ? *all < most : true", "all ? *all <= most : false",
                      "!(all) ? *all <= most : true" }, mutants_of "few")
    end)

    it("a switch drops an operand of |", function()
        assert.same({ "(a | 4) | f(a, b | 1)", "(a & 5) | f(a, b | 1)", "(a & 3) | f(a, b | 1)",
                      "(a & 4) | f(a, b | 2)", "(a & 4) | f(a, b | 0)", "0 | f(a, b | 1)",
                      "(a & 4) | 0", "(a & 4) | f(a, 0 | 1)" }, mutants_of "what")
    end)

    it("a switch turns one of its mutants on, by its number", function()
        local sites, id = switch.sites(SEATS), 0
        for _, site in ipairs(sites) do
            for _, each in ipairs(site.mutants) do
                id = id + 1
                each.id = id
            end
        end
        local source = [[
#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
unsigned zkl_mutant;
int f(int a, int b) { return a + b; }
]] .. switch.render(SEATS, sites) .. [[
int main(void) {
    for (zkl_mutant = 0; zkl_mutant <= 12; zkl_mutant++) printf("%d ", seats(2, 5));
}
]]
        files.write(folder .. "/a.c", source)
        assert.equal("8 -1 8 8 8 8 -1 -1 8 8 8 10 12 ",
                     (shell.must("cd %s && %s -w -o a a.c && ./a", folder,
                                 os.getenv "CC" or "cc"):gsub("\n", "")))
    end)
end)
