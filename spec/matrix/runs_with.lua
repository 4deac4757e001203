--- Prints the versions that a cell of the matrix runs with, inside nginx if NGINX names one. Fails
-- unless they contain the text in WANT.

local found
if os.getenv "NGINX" then
    local nginx = require "spec.nginx.nginx"
    found = nginx.start{ app = "spec.matrix.versions" }:get("/tell").body
    nginx.stop_all()
else
    found = require("spec.matrix.versions").text()
end

print("runs with: " .. found)
local want = os.getenv "WANT"
if not found:find(want, 1, true) then error("it does not run with " .. want) end
