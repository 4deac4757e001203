--- world.lua - defects of src/world, simulated clients and servers. Rows are as mutant.lua says.

local function by(...)
    return { spec = "spec/simulate_spec.lua", tests = { ... }, in_memory = true }
end

return {

    -- --- processes --------------------------------------------------------------------------

    { "world-stopped-lives", "the session of a stopped process does not expire",
      at = "zkl_world_stop",
      find = "if (each->client.link->online) zkl_server_stop_hearing(world, each->client.link);",
      catch = by "a session expires by the world's time" },
    { "world-killed-lives", "a killed process connects again",
      at = "zkl_world_kill", find = "each->dead = true;",
      catch = by "a killed process runs no further line, and its session" },

    -- --- the network ------------------------------------------------------------------------

    { "world-healed-twice", "heal succeeds for a process that is not cut off",
      at = "zkl_world_heal", find = "if (!link->cut) return false;",
      catch = by "a process that is cut off is healed once" },
    { "world-cut-twice", "a process that is cut off is cut off once more",
      at = "zkl_world_cut", find = "link->cut || ",
      catch = by "expire, cut, heal and delay act on a world's servers" },
    { "world-no-answer", "a request that was lost with its connection is never told of the loss",
      at = "zkl_link_notice_end", find = "tell_losses(link, &link->dropped);",
      catch = by "a shop that shows its token before it reads never sells" },
    { "world-one-pace", "all packets take the same time",
      at = "zkl_world_draw_delay",
      find = "(zkl_time)zkl_world_chance(world, (uint64_t)world->longest_delay)", replace = "0",
      catch = by "two seeds are two schedules" },
    { "world-no-delay", "a server answers at once, whatever its delay",
      at = "due_after", find = "due += link->server->delay;", replace = "(void)0;",
      catch = by "expire, cut, heal and delay act on a world's servers" },
    { "world-delay-both-ways", "the server's delay also slows requests",
      at = "due_after", find = "if (list == &link->down)", replace = "",
      catch = by "expire, cut, heal and delay act on a world's servers" },
    { "world-nothing-ends",
      "the world does not know when a hold, a pause or a request will end by itself",
      at = "zkl_world_next_end", find = "if (!each->dead) first =",
      replace = "if (false) first =",
      catch = by "time goes on until a max_hold or a jitter is over" },
    { "world-not-hastened", "a packet that is chosen still waits for its time",
      at = "zkl_world_hasten", find = "if (packet) packet->due = world->now;",
      catch = by "choose() can let any packet arrive first" },

    -- --- servers ----------------------------------------------------------------------------

    { "world-expired-silently", "a client whose session was ended is not told",
      at = "tell_expired",
      find = "if (link->attached) zkl_link_break(link, world->now + " ..
        "zkl_world_draw_delay(world) + link->server->delay);",
      catch = by "expire, cut, heal and delay act on a world's servers" },
    { "world-totals", "the totals of a world count no session",
      at = "zkl_world_totals",
      find = "zkl_totals_add(totals, zkl_client_enter(&each->client)); " ..
        "zkl_client_leave(&each->client);",
      catch = by "metrics() in a world counts only the world's sessions" },

    -- --- due entries ------------------------------------------------------------------------

    { "world-due-late", "an entry that becomes due earlier does not rise in the heap",
      at = "zkl_agenda_set", find = "if (at < before) rise(agenda, due);",
      replace = "if (at < before) sink(agenda, due);",
      catch = by("a wait ends at its deadline by the world's time",
                 "a session expires by the world's time") },
    { "world-due-early", "an entry that is put off stays at the top of the heap",
      at = "zkl_agenda_set", find = "else if (at > before) sink(agenda, due);",
      catch = by("a wait ends at its deadline by the world's time",
                 "a session expires by the world's time") },
}
