--- What pages and pictures say in each language beside the texts of the lessons.

return {
    en = {
        language = "English", site = "Lessons: what a distributed lock is",
        intro = "Each lesson asks what will come out of a flash sale, lets you predict it, and "
            .. "carries the sale out: in virtual time, from a seed, so that it comes out the same "
            .. "each time. Every picture and every number here is made by the run that the page "
            .. "names. Begin at the top: each lesson breaks what the one before it has mended.",
        play = "And a game:",
        lesson = "Lesson", index = "All lessons", before = "Before", after = "Next",
        question = "The question", predict = "Your prediction", choose = "Choose an answer; "
            .. "each one has a reply.",
        run = "The real run", cause = "The cause", mend = "The line that mends it",
        same = "The same with it", try = "Try it yourself", where = "Where it happened",
        right = "Right.", wrong = "No.",
        verdicts = { right = "right", wrong = "wrong", stuck = "stuck" },
        outcome = "%d sold, %d left of %d",
        call = "The run that this picture shows:", report = "the whole report of this run",
        module = "The module `%s`:",
        server = "server %d", who = "server %d, buyer %d: ", stopped = "stopped", killed = "killed",
        key = { wait = "waits for the lock", hold = "holds it", two = "two hold one lock at once",
                stop = "the process is stopped", kill = "the process is dead", commit = "has "
                    .. "released, not yet committed",
                mark = "a step, listed below", written = "stock as written",
                rightly = "stock less what was sold" },
        picture = "%s: who waited, who held the lock, and the stock, from 0 to %s. The table below "
            .. "has the numbers.",
        stock = "stock", seconds = "seconds",
        table = "Table: what each buyer did",
        columns = { buyer = "buyer", server = "server", lock = "lock", asked = "asked",
                    granted = "had the lock", waited = "waited", read = "read", wrote = "wrote",
                    at = "at", released = "gave it up", token = "token", outcome = "was told" },
        try_call = "Save the call of a run as a file of the source tree, change what you like, and "
            .. "run it:",
        waits = "Waits for the lock: half of them %s or less, the longest %s.",
        steps = {
            reads = "reads the stock: %d", writes = "writes %d", stop = "is stopped",
            wakes = "goes on", granted = "gets the lock", releases = "gives up the lock",
            commits = "commits, so that others see %d", late = "writes, and the store refuses it: "
                .. "its token is older than the newest that was shown",
            prepares = "writes %d, not yet committed", has = "holds %s", asks = "asks for %s",
            killed = "is killed, with the lock in its hand",
            deletes = "releases the lock, which is another's",
            looks_held = "looks at its lease: held", looks_lost = "looks at its lease: lost",
            gives_up = "has waited too long, and gives up",
        },
        outcomes = { sold = "sold", refused = "sold out", late = "refused: too late",
                     timeout = "waited too long", expired = "session ended", lost = "lock lost",
                     unanswered = "no answer" },
        made = "Made by %s from seeds; no page here loads anything from a network.",
    },
    zh = {
        language = "中文", site = "课程：什么是分布式锁",
        intro = "每一课先问一场秒杀会有什么结果，让你预测，然后真的演一遍：在虚拟时间里，从一个种子开始，"
            .. "所以每次结果都相同。这里的每一幅图、每一个数字，都出自页面上写明的那次运行。"
            .. "请从第一课学起：每一课都会打破前一课刚修好的东西。",
        play = "还有一个游戏：",
        lesson = "第", index = "全部课程", before = "上一课", after = "下一课",
        question = "问题", predict = "你的预测", choose = "选一个答案，每个答案都有回应。",
        run = "实际运行", cause = "原因", mend = "改好它的那一行",
        same = "改好之后的同一场", try = "自己试试", where = "发生过的事",
        right = "对。", wrong = "不对。",
        verdicts = { right = "正确", wrong = "出错", stuck = "卡死" },
        outcome = "卖出 %d 件，剩 %d 件，原有 %d 件",
        call = "这幅图来自这次运行：", report = "这次运行的完整报告（英文）",
        module = "模块 `%s`：",
        server = "服务器 %d", who = "服务器 %d，买家 %d：", stopped = "停住", killed = "被杀死",
        key = { wait = "等锁", hold = "持有锁", two = "两个买家同时持有同一把锁",
                stop = "进程停住", kill = "进程已死", commit = "已释放，未提交", mark = "下面列出的步骤",
                written = "写入的库存", rightly = "应有的库存" },
        picture = "%s：从 0 到 %s，谁在等锁，谁持有锁，库存有多少。数字见下面的表。",
        stock = "库存", seconds = "秒",
        table = "表：每个买家做了什么",
        columns = { buyer = "买家", server = "服务器", lock = "锁", asked = "请求",
                    granted = "获锁", waited = "等待", read = "读到", wrote = "写入",
                    at = "写入时刻", released = "释放", token = "令牌", outcome = "被告知" },
        try_call = "把上面任何一次运行的调用存成源码目录中的文件，随意修改，再运行：",
        waits = "等锁的时间：一半不超过 %s，最长 %s。",
        steps = {
            reads = "读库存：%d", writes = "写入 %d", stop = "停住",
            wakes = "继续运行", granted = "得到锁", releases = "释放锁",
            commits = "提交，别人这才看到 %d", late = "写入，被存储拒绝：它的令牌比存储见过的旧",
            prepares = "写入 %d，但还没有提交", has = "持有 %s", asks = "请求 %s",
            killed = "被杀死，锁还在手里", deletes = "释放锁，而锁已经是别人的",
            looks_held = "看租约：持有", looks_lost = "看租约：失去",
            gives_up = "等得太久，放弃了",
        },
        outcomes = { sold = "买到了", refused = "售罄", late = "太迟，被拒绝",
                     timeout = "等得太久", expired = "会话过期", lost = "失去了锁",
                     unanswered = "没有答复" },
        made = "由 %s 从种子生成；这里的页面都不从网络加载任何东西。",
    },
}
