--- Opens a page in headless Chromium, and returns the observations of a script in it.

local dkjson = require "dkjson"
local files = require "spec.files"
local rig = require "spec.rig"

local browser = {}

local CHROMIUM = "chromium --headless=new --no-sandbox --disable-gpu --dump-dom "
    .. "--user-data-dir=%s/profile "

local SEEN_BY = "timeout 600 " .. CHROMIUM .. "--window-size=%s --virtual-time-budget=60000 "
    .. "--blink-settings=preferredColorScheme=%d --enable-logging=stderr --v=0 file://%s 2>%s/log"

-- Comes first in the page, to catch each error and each painted word.
local LISTENER = [[<script>
const problems = [], painted = new Map();
const fillText = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
  painted.set(this.canvas, (painted.get(this.canvas) ?? new Set()).add(text));
  return fillText.call(this, text, ...place);
};
addEventListener("error", event => problems.push("error: " + event.message));
addEventListener("unhandledrejection", event => problems.push("rejected: " + event.reason));
addEventListener("securitypolicyviolation", event => problems.push("loads " + event.blockedURI));
</script>]]

local ENTITIES = { lt = "<", gt = ">", amp = "&", quot = '"', nbsp = " " }


local function contents(path) return rig.shell("cat %s", path) end


-- Adds the listener at the beginning of the page, and the script at its end.
local function instrument(page, script)
    local _, head = page:find("<head>", 1, true)
    local tail = page:match(".*()</body>")
    return page:sub(1, head) .. LISTENER .. page:sub(head + 1, tail - 1)
        .. "<script>" .. script .. "</script>" .. page:sub(tail)
end


--- The observations of spec/seckill/report/probe.js, or of another probe, in a page.
---@param path string
---@param options table?  { width =, dark = true, probe = }
---@return table seen
function browser.look(path, options)
    options = options or {}
    local folder = rig.shell("mktemp -d"):match "[^\n]+"
    files.write(folder .. "/page.html",
                instrument(contents(path), contents("spec/seckill/report/"
                    .. (options.probe or "probe.js"))))
    local page = rig.shell(SEEN_BY, folder, (options.width or 1280) .. ",2000",
                           options.dark and 0 or 1, folder .. "/page.html", folder)
    local log = contents(folder .. "/log")
    rig.shell("rm -rf %s", folder)
    local seen = page:match '<pre id="seen">(.-)</pre>'
    if not seen then error("Chromium has seen nothing:\n" .. log, 2) end
    seen = assert(dkjson.decode((seen:gsub("&(%a+);", ENTITIES))))
    for line in log:gmatch "[^\n]*CONSOLE[^\n]*" do
        seen.problems[#seen.problems + 1] = line
    end
    return seen
end


local TITLE_OF = "timeout 120 " .. CHROMIUM .. "--disable-background-networking "
    .. "--allow-file-access-from-files --window-size=1300,1000 --virtual-time-budget=5000 "
    .. "file://%s/%s 2>%s/log"

--- The title of a page after its scripts have run.
---@param folder string  of the page, where Chromium may write, too
---@param name string
---@return string? title
function browser.title(folder, name)
    return rig.shell(TITLE_OF, folder, folder, name, folder):match "<title>(.-)</title>"
end


return browser
