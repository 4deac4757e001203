--- /metrics of examples/nginx, of all its workers, as promtool and Prometheus read it.

local http = require "socket.http"
local json = require "dkjson"
local url = require "socket.url"
local nginx = require "spec.nginx.nginx"
local rig = require "spec.rig"

local host, prometheus


-- Starts Debian's Prometheus, which scrapes the host each second, and ends with this process.
local function start_prometheus()
    local dir, port = rig.shell("mktemp -d"):match("[^\n]+"), nginx.free_port()
    nginx.write(dir .. "/config.yml", ([[
global: { scrape_interval: 1s }
scrape_configs:
  - job_name: nginx
    static_configs: [ { targets: [ "127.0.0.1:%d" ] } ]
]]):format(host.port))
    local command = "cd %s && echo $$ >pid && exec setpriv --pdeathsig TERM " ..
        "prometheus --config.file=config.yml " ..
        "--storage.tsdb.path=data --web.listen-address=127.0.0.1:%d >output 2>&1"
    prometheus = { dir = dir, port = port, output = io.popen(command:format(dir, port)) }
end


local function stop_prometheus()
    if not prometheus then return end
    rig.shell("kill $(cat %s/pid)", prometheus.dir)
    prometheus.output:close()
    rig.shell("rm -rf %s", prometheus.dir)
    prometheus = nil
end


local function query(text)
    local answer = http.request(("http://127.0.0.1:%d/api/v1/query?query=%s"):format(
        prometheus.port, url.escape(text)))
    local said = answer and json.decode(answer)
    return said and said.status == "success" and said.data.result
end


describe("the metrics of an nginx #nginx #zklock.metrics", function()
    setup(function() rig.shared() end)
    after_each(function()
        stop_prometheus()
        nginx.stop_all()
    end)

    it("the metrics of all workers are one text that promtool accepts", function()
        host = nginx.example()
        for _ = 1, 4 do -- a worker may have no session yet
            rig.wait_for("a sale", function() return host:get("/buy?sku=a").status == 200 end)
        end
        local text
        local is_complete = rig.eventually(function()
            text = http.request(("http://127.0.0.1:%d/metrics"):format(host.port))
            local sum = 0
            for count in text:gmatch('\nzklock_lock_acquires_total{worker="[01]",lock="shop",' ..
                                     'outcome="granted"} (%d+)') do
                sum = sum + count
            end
            return sum == 4
        end, 20)
        assert.is_true(is_complete, text)
        nginx.write(host.dir .. "/metrics", text)
        assert.equal("fine\n", rig.shell("promtool check metrics <%s/metrics 2>&1 && echo fine",
                                         host.dir))
    end)

    it("Prometheus reads the metrics, with quantiles and rates #slow", function()
        host = nginx.example()
        start_prometheus()
        local function wait_for_value(text, expected)
            local result
            local is_reached = rig.eventually(function()
                result = query(text)
                return result and result[1] and tonumber(result[1].value[2]) == expected
            end, 60)
            assert.is_true(is_reached, text .. ": " .. json.encode(result) .. "\n" ..
                (nginx.read(prometheus.dir .. "/output")))
        end
        for _ = 1, 3 do host:get("/buy?sku=a") end
        wait_for_value('sum(zklock_lock_acquires_total{lock="shop",outcome="granted"})', 3)
        wait_for_value('sum(zklock_sessions{state="connected"})', 2)
        wait_for_value("count(zklock_wait_seconds_count) by (job)", 2)
        wait_for_value("sum(zklock_hold_seconds_count)", 3)
        wait_for_value(
            "histogram_quantile(0.5, sum(zklock_hold_seconds_bucket) by (le)) < bool 10", 1)
    end)
end)
