-- Where the archive is that `make dist` makes: in the rockspec beside that archive it is filled in.
local archive = "file://zklock-scm.tar.gz"

rockspec_format = "3.0"
package = "zklock"
version = "scm-1"

source = {
   url = archive,
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
   type = "builtin",
   copy_directories = { "docs" },
   modules = {
      ["zklock"] = "lua/zklock/init.lua",
      ["zklock.core"] = {
         sources = {
            "src/core/batch.c",
            "src/core/claim.c",
            "src/core/claim_replies.c",
            "src/core/claim_way.c",
            "src/core/clock.c",
            "src/core/code.c",
            "src/core/condition.c",
            "src/core/line.c",
            "src/core/name.c",
            "src/core/permits.c",
            "src/core/unfair.c",
            "src/lua/lease.c",
            "src/lua/module.c",
            "src/lua/request.c",
            "src/lua/session.c",
            "src/lua/watcher.c",
            "src/zookeeper/bell.c",
            "src/zookeeper/condition.c",
            "src/zookeeper/descriptors.c",
            "src/zookeeper/flight.c",
            "src/zookeeper/handle.c",
            "src/zookeeper/hosts.c",
            "src/zookeeper/inbox.c",
            "src/zookeeper/guard.c",
            "src/zookeeper/inquiry.c",
            "src/zookeeper/keeper.c",
            "src/zookeeper/lease.c",
            "src/zookeeper/multi.c",
            "src/zookeeper/path.c",
            "src/zookeeper/probe.c",
            "src/zookeeper/process.c",
            "src/zookeeper/reply.c",
            "src/zookeeper/request.c",
            "src/zookeeper/session.c",
            "src/zookeeper/stake.c",
            "src/zookeeper/stake_actions.c",
            "src/zookeeper/stake_news.c",
            "src/zookeeper/thread.c",
            "src/zookeeper/watcher.c",
            "src/zookeeper/watches.c",
         },
         defines = { "THREADED", "_GNU_SOURCE" },
         libraries = { "zookeeper_mt", "pthread", "dl" },
         incdirs = { "$(ZOOKEEPER_INCDIR)" },
         libdirs = { "$(ZOOKEEPER_LIBDIR)" },
      },
      ["zklock.condition"] = "lua/zklock/condition.lua",
      ["zklock.driver.block"] = "lua/zklock/driver/block.lua",
      ["zklock.driver.copas"] = "lua/zklock/driver/copas.lua",
      ["zklock.driver.cqueues"] = "lua/zklock/driver/cqueues.lua",
      ["zklock.driver.luv"] = "lua/zklock/driver/luv.lua",
      ["zklock.driver.ngx"] = "lua/zklock/driver/ngx.lua",
      ["zklock.failure"] = "lua/zklock/failure.lua",
      ["zklock.key"] = "lua/zklock/key.lua",
      ["zklock.lease"] = "lua/zklock/lease.lua",
      ["zklock.lock"] = "lua/zklock/lock.lua",
      ["zklock.misuse"] = "lua/zklock/misuse.lua",
      ["zklock.multi"] = "lua/zklock/multi.lua",
      ["zklock.options"] = "lua/zklock/options.lua",
      ["zklock.owner"] = "lua/zklock/owner.lua",
      ["zklock.path"] = "lua/zklock/path.lua",
      ["zklock.receiver"] = "lua/zklock/receiver.lua",
      ["zklock.request"] = "lua/zklock/request.lua",
      ["zklock.rwlock"] = "lua/zklock/rwlock.lua",
      ["zklock.scope"] = "lua/zklock/scope.lua",
      ["zklock.seckill.catalogue"] = "lua/zklock/seckill/catalogue.lua",
      ["zklock.seckill.clock"] = "lua/zklock/seckill/clock.lua",
      ["zklock.seckill.database"] = "lua/zklock/seckill/database.lua",
      ["zklock.seckill.demo"] = "lua/zklock/seckill/demo.lua",
      ["zklock.seckill.dependency"] = "lua/zklock/seckill/dependency.lua",
      ["zklock.seckill.gate"] = "lua/zklock/seckill/gate.lua",
      ["zklock.seckill.http.app"] = "lua/zklock/seckill/http/app.lua",
      ["zklock.seckill.http.client"] = "lua/zklock/seckill/http/client.lua",
      ["zklock.seckill.http.conf"] = "lua/zklock/seckill/http/conf.lua",
      ["zklock.seckill.http.demo"] = "lua/zklock/seckill/http/demo.lua",
      ["zklock.seckill.http.latency"] = "lua/zklock/seckill/http/latency.lua",
      ["zklock.seckill.http.mariadb"] = "lua/zklock/seckill/http/mariadb.lua",
      ["zklock.seckill.http.sale"] = "lua/zklock/seckill/http/sale.lua",
      ["zklock.seckill.http.server"] = "lua/zklock/seckill/http/server.lua",
      ["zklock.seckill.http.setting"] = "lua/zklock/seckill/http/setting.lua",
      ["zklock.seckill.http.shared_lock"] = "lua/zklock/seckill/http/shared_lock.lua",
      ["zklock.seckill.http.shop"] = "lua/zklock/seckill/http/shop.lua",
      ["zklock.seckill.http.stage"] = "lua/zklock/seckill/http/stage.lua",
      ["zklock.seckill.http.wrk"] = "lua/zklock/seckill/http/wrk.lua",
      ["zklock.seckill.http.wrk_load"] = "lua/zklock/seckill/http/wrk_load.lua",
      ["zklock.seckill.laboratory"] = "lua/zklock/seckill/laboratory.lua",
      ["zklock.seckill.leash"] = "lua/zklock/seckill/leash.lua",
      ["zklock.seckill.options"] = "lua/zklock/seckill/options.lua",
      ["zklock.seckill.process"] = "lua/zklock/seckill/process.lua",
      ["zklock.seckill.report"] = "lua/zklock/seckill/report.lua",
      ["zklock.seckill.runner"] = "lua/zklock/seckill/runner.lua",
      ["zklock.seckill.scenario.crash"] = "lua/zklock/seckill/scenario/crash.lua",
      ["zklock.seckill.scenario.herd"] = "lua/zklock/seckill/scenario/herd.lua",
      ["zklock.seckill.scenario.late_write"] = "lua/zklock/seckill/scenario/late_write.lua",
      ["zklock.seckill.scenario.orders"] = "lua/zklock/seckill/scenario/orders.lua",
      ["zklock.seckill.scenario.oversell"] = "lua/zklock/seckill/scenario/oversell.lua",
      ["zklock.seckill.scenario.read_write"] = "lua/zklock/seckill/scenario/read_write.lua",
      ["zklock.seckill.scenario.turns"] = "lua/zklock/seckill/scenario/turns.lua",
      ["zklock.seckill.setting"] = "lua/zklock/seckill/setting.lua",
      ["zklock.seckill.shell"] = "lua/zklock/seckill/shell.lua",
      ["zklock.seckill.stage"] = "lua/zklock/seckill/stage.lua",
      ["zklock.seckill.store"] = "lua/zklock/seckill/store.lua",
      ["zklock.seckill.strategy"] = "lua/zklock/seckill/strategy.lua",
      ["zklock.seckill.worker"] = "lua/zklock/seckill/worker.lua",
      ["zklock.session"] = "lua/zklock/session.lua",
      ["zklock.sessions"] = "lua/zklock/sessions.lua",
      ["zklock.host_task"] = "lua/zklock/host_task.lua",
      ["zklock.tasks"] = "lua/zklock/tasks.lua",
      ["zklock.wait"] = "lua/zklock/wait.lua",
      ["zklock.watcher"] = "lua/zklock/watcher.lua",
      ["zklock.waiters"] = "lua/zklock/waiters.lua",
   },
}

test = {
   type = "command",
   command = "make test",
}
