--- The laboratory refuses every sale in nginx.

local nginx = require "spec.nginx.nginx"


describe("the laboratory, in nginx #nginx", function()
    local host

    setup(function()
        host = nginx.start{
            server = [[
                location = /sell {
                    content_by_lua_block {
                        local seckill = require "zklock.seckill"
                        local codes = {}
                        local function note(_, _, code) codes[#codes + 1] = tostring(code) end
                        for _, simulated in ipairs{ false, true } do
                            local options = { strategy = "none", simulated = simulated }
                            note(seckill.sale(options))
                            options.strategy = nil
                            note(seckill.compare({ "none", "local" }, options))
                        end
                        note(seckill.explore{ strategy = "none" })
                        ngx.print(table.concat(codes, " "))
                    }
                }]],
        }
    end)
    teardown(function() nginx.stop_all(host) end)

    it("sales, comparisons and explorations, real and simulated, are refused with context",
       function()
        assert.equal("context" .. (" context"):rep(4), host:get("/sell").body)
        assert.same({}, host:troubles())
    end)
end)
