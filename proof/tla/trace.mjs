// trace.mjs SPEC FOLDER - checks whether the logs in FOLDER/*/Log.tla conform to SPEC.tla, Trace or
// History, by tla-checker (npm), which build/proof has. Names the first line of each that does not
// conform, and ends with: N passed, N failed. trace.mjs SPEC FOLDER first - ends at the first log
// that does not conform.
//
// A log whose first line is `\* altered: line N` has to be refused, at that line or behind it.
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { exit, argv } from "node:process"
import { check } from "./checker.mjs"

const [spec, folder, first] = argv.slice(2)

// The checker takes one module, with its variables in one place. So the bodies of all modules become
// one, with the variables of Trace.tla before those of Lock.tla.
const read = (...path) => readFileSync(join(...path), "utf8")
const body = (text) => text.replace(/^-+ MODULE .*$/m, "").replace(/^EXTENDS .*$/m, "")
    .replace(/^=+\s*$/m, "")
const variables = /^VARIABLES$((?:\n {4}.*)+)/m
let lock = "", trace = body(read(`proof/tla/${spec}.tla`))
if (spec === "Trace") {
    const names = trace.match(variables)[1].match(/(?<=^ {4})\w+/gm).join(", ")
    lock = body(read("proof/tla/Lock.tla")).replace("VARIABLES", `VARIABLES ${names},`)
    trace = trace.replace(variables, "")
}
const config = read(`build/proof/configurations/${spec}.cfg`)

function follow(log) {
    const module = "---- MODULE Whole ----\nEXTENDS Naturals, FiniteSets, Sequences\n" +
        lock + body(log) + trace + "====\n"
    return check(module, config, { max_states: 100000, max_depth: 100000, allow_deadlock: false })
}

// The line at which all behaviours stop, or after which an invariant is broken; and why.
function refusal(result) {
    const lines = (result.trace || []).join("\n").match(/^ {2}line = \d+$/gm) || ["0"]
    const line = Number(lines.pop().match(/\d+/)[0])
    if (!result.violated) return [line, result.error_message]
    return [line - 1, "breaks " + result.violated]
}

function judge(seed) {
    const log = read(folder, seed, "Log.tla")
    const lines = log.match(/^\[.*$/gm)
    const altered = Number(log.match(/^\\\* altered: line (\d+)/)?.[1])
    const result = follow(log)
    if (result.success) {
        if (altered) console.log(`${seed}: ALTERED, BUT CONFORMS: ${lines[altered - 1]}`)
        return !altered
    }
    const [line, why] = refusal(result)
    const as_wanted = altered && line >= altered
    if (as_wanted) console.log(`${seed}: refused, line ${line} ${why}`)
    else console.log(`${seed}: DOES NOT CONFORM, line ${line}: ${lines[line - 1]} ${why}`)
    return as_wanted
}

const seeds = readdirSync(folder).sort((a, b) => parseInt(a) - parseInt(b))
let passed = 0, failed = 0
for (const seed of seeds) {
    if (judge(seed)) passed++
    else failed++
    if (failed && first) break
}
console.log(`${passed} passed, ${failed} failed`)
exit(failed ? 1 : 0)
