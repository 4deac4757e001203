--- configurations.lua - the configurations of the specifications, a row each.
--
--   lua5.4 proof/tla/configurations.lua FOLDER   writes each as FOLDER/NAME.cfg
--
-- A row has the name, the specification and a comment; `breaks`, an invariant that has to break;
-- and the constants that differ from the specification's usual constants. MC… and Large… are right
-- in all states; Bad… lacks a rule. Trace and History are for logs, which trace.mjs checks.

package.path = "./?.lua;" .. package.path
local files = require "spec.files"

local TRUE, FALSE = "TRUE", "FALSE"
local THREE = "{a, b, c}"

-- The constants of each specification, as most of its rows have them, and its invariants.
local SPECS = {
    Lock = {
        constants = {
            { "Client", "{a, b}" }, { "Creates", 2 }, { "Faults", 1 }, { "GivesUp", FALSE },
            { "HasNonce", TRUE }, { "LooksBehind", TRUE }, { "ChecksOwner", TRUE },
            { "WatchesAhead", TRUE }, { "LooksAgain", TRUE }, { "GoesOn", TRUE },
            { "IsCertain", TRUE },
        },
        invariants = "Exclusion TokensGrow NoLostWakeUp NoHerd NoOrphan",
    },
    Lease = {
        constants = {
            { "ClientStops", TRUE }, { "LeaderStops", FALSE }, { "AsksLeader", TRUE },
            { "CountsFromSending", TRUE }, { "WantsChain", TRUE }, { "SeesStops", TRUE },
            { "DoubtsLate", TRUE },
        },
        invariants = "HeldIsTrue",
    },
    Kept = {
        constants = {
            { "Session", "{a, b}" }, { "Wishes", 4 }, { "Listens", TRUE },
            { "SetsWithList", TRUE }, { "Remembers", TRUE }, { "AsksAgain", TRUE },
            { "AsksKeeper", TRUE },
        },
        invariants = "Exclusion NoLostWakeUp TriesAreRight",
    },
    Trace = { -- has the constants of Lock
        of_log = "Traced", invariants = "Exclusion TokensGrow NoLostWakeUp NoHerd NoLostPeek",
    },
    History = {
        of_log = "Judged", constants = {},
        invariants = "Exclusion Turn Permits TokensGrow Fenced NodeLives",
    },
}
SPECS.Trace.constants = SPECS.Lock.constants

local ROWS = {
    { "MCLock", "Lock", "two clients", Creates = 3, Faults = 2 },
    { "MCLockThree", "Lock", "three clients", Client = THREE, Creates = 3, Faults = 0 },
    { "MCLockLeave", "Lock", "two clients that may give up at any time", Creates = 3,
      GivesUp = TRUE },
    { "LargeLock", "Lock", "three clients and two faults", Client = THREE, Creates = 4, Faults = 2,
      GivesUp = TRUE },
    { "BadNonce", "Lock", "a create without a nonce leaves a second node (CURATOR-264)",
      breaks = "NoOrphan", HasNonce = FALSE },
    { "BadSearch", "Lock", "a search that is not behind a sync misses the node that comes late",
      breaks = "NoOrphan", LooksBehind = FALSE },
    { "BadOwner", "Lock", "a node of the session before is granted (CURATOR-604)",
      breaks = "Exclusion", Creates = 3, Faults = 2, ChecksOwner = FALSE },
    { "BadHerd", "Lock", "each waiter watches the first node (BUG-01)",
      breaks = "NoHerd", Client = THREE, Creates = 3, Faults = 0, WatchesAhead = FALSE },
    { "BadLook", "Lock", "a node that was gone before the watch was set is waited for",
      breaks = "NoLostWakeUp", LooksAgain = FALSE },
    { "BadWake", "Lock",
      "when the node ahead goes, the lock is taken without another look (BUG-12)",
      breaks = "Exclusion", Client = THREE, Creates = 3, Faults = 0, GoesOn = FALSE },
    { "BadHeld", "Lock", "a holder believes in a session that has ended (CURATOR-206)",
      breaks = "Exclusion", IsCertain = FALSE },

    { "MCLeaseCut", "Lease", "the client stands still, and its follower is cut off" },
    { "MCLeaseStand", "Lease", "the leader stands still, and another one leads",
      ClientStops = FALSE, LeaderStops = TRUE },
    { "LargeLease", "Lease", "the client stands still, and the leader, too", LeaderStops = TRUE },
    { "BadPing", "Lease", "an answer of a follower alone is taken for a proof",
      breaks = "HeldIsTrue", AsksLeader = FALSE },
    { "BadAnswer", "Lease", "a proof counts from its answer",
      breaks = "HeldIsTrue", CountsFromSending = FALSE },
    { "BadMargin", "Lease", "half of T is certain after a single proof",
      breaks = "HeldIsTrue", WantsChain = FALSE },
    { "BadStop", "Lease", "the client does not notice that it stood still",
      breaks = "HeldIsTrue", SeesStops = FALSE },
    { "BadLate", "Lease", "a deposed leader's late answers are taken for steady proofs",
      breaks = "HeldIsTrue", ClientStops = FALSE, LeaderStops = TRUE, DoubtsLate = FALSE },

    { "MCKept", "Kept", "two sessions" },
    { "MCKeptThree", "Kept", "three sessions", Session = THREE },
    { "LargeKept", "Kept", "four sessions", Session = "{a, b, c, d}", Wishes = 6 },
    { "BadDeaf", "Kept", "nothing tells a keeper of others",
      breaks = "NoLostWakeUp", Listens = FALSE },
    { "BadWatch", "Kept", "a node that comes between a list and a watch is not seen",
      breaks = "NoLostWakeUp", SetsWithList = FALSE },
    { "BadMemory", "Kept", "an event during a hold is forgotten at its end",
      breaks = "NoLostWakeUp", Remembers = FALSE },
    { "BadCut", "Kept", "a list and a watch that a cut has lost are not asked for again",
      breaks = "NoLostWakeUp", AsksAgain = FALSE },
    { "BadTry", "Kept", "a try takes a node that is only kept for a lock that is held",
      breaks = "TriesAreRight", AsksKeeper = FALSE },

    { "Trace", "Trace", "the log of a run of the simulator", Client = "{1, 2, 3, 4, 5}",
      Creates = 1000000, Faults = 1000000, GivesUp = TRUE, LooksBehind = FALSE },
    { "History", "History", "a path of the torture" },
}


-- The text of a row's .cfg. A deadlock is an error in a log only, as a line that does not conform.
local function configuration(row)
    local spec = SPECS[row[2]]
    local breaks = row.breaks and ", breaks " .. row.breaks or ""
    local lines = {
        ("\\* %s.tla%s: %s."):format(row[2], breaks, row[3]),
        "SPECIFICATION " .. (spec.of_log or "Spec"),
    }
    if spec.constants[1] then lines[#lines + 1] = "CONSTANTS" end
    for _, constant in ipairs(spec.constants) do
        local name, usual = constant[1], constant[2]
        lines[#lines + 1] = ("    %s = %s"):format(name, row[name] or usual)
    end
    lines[#lines + 1] = "INVARIANTS"
    lines[#lines + 1] = "    " .. spec.invariants
    lines[#lines + 1] = "CHECK_DEADLOCK " .. (spec.of_log and "TRUE" or "FALSE")
    return table.concat(lines, "\n") .. "\n"
end


for _, row in ipairs(ROWS) do
    files.write(("%s/%s.cfg"):format(assert(arg[1]), row[1]), configuration(row))
end
