// check.mjs CONFIGURATION.cfg - checks one configuration (configurations.lua) of a specification, by
// tla-checker (npm), which build/proof has. Prints a line, and exits with 1 if the result is not
// what the configuration's first line says:
//   \* Lock.tla: …                     all states are right
//   \* Lock.tla, breaks NoOrphan: …    a state is found that breaks this invariant
import { readFileSync } from "node:fs"
import { basename } from "node:path"
import { exit, argv } from "node:process"
import { check } from "./checker.mjs"

const config = readFileSync(argv[2], "utf8")
const [, module, broken, what] = config.match(/^\\\* (\w+)\.tla(?:, breaks (\w+))?: (.*)\.$/m)
const spec = readFileSync(`proof/tla/${module}.tla`, "utf8")

const begin = Date.now()
const result = check(spec, config, {
    max_states: 2000000, max_depth: 1000, allow_deadlock: true,
})
const { violated } = result
const seconds = (Date.now() - begin) / 1000

const found = result.success ? "right" : violated ? "breaks " + violated : result.error_message
const passed = result.success ? !broken : violated && violated === broken

console.log([basename(argv[2], ".cfg").padEnd(13), `${result.states_explored}`.padStart(8), "states",
    seconds.toFixed(1).padStart(6), "s ", passed ? found : `FAILED: ${found}`, "-", what].join(" "))
if (!passed && result.trace) console.log(result.trace.join("\n"))
exit(passed ? 0 : 1)
