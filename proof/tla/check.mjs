// check.mjs CONFIGURATION.cfg - checks one configuration of a specification beside it, by
// tla-checker (npm), which build/proof has. Prints a line, and exits with 1 if the result is not
// what the configuration's first line says:
//   \* Lock.tla: …                     all states are right
//   \* Lock.tla, breaks NoOrphan: …    a state is found that breaks this invariant
import { readFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { cwd, exit, argv } from "node:process"
import { pathToFileURL } from "node:url"

const checker = join(cwd(), "build/proof/node_modules/tla-checker")
const { initSync, check_spec_with_options } =
    await import(pathToFileURL(join(checker, "tla_checker.js")))
initSync({ module: readFileSync(join(checker, "tla_checker_bg.wasm")) })

const config = readFileSync(argv[2], "utf8")
const [, module, broken, what] = config.match(/^\\\* (\w+)\.tla(?:, breaks (\w+))?: (.*)\.$/m)
const spec = readFileSync(join(dirname(argv[2]), module + ".tla"), "utf8")

const begin = Date.now()
const result = JSON.parse(check_spec_with_options(spec, JSON.stringify({
    cfg_source: config, max_states: 2000000, max_depth: 1000, allow_deadlock: true,
})))
const seconds = (Date.now() - begin) / 1000

const invariants = config.match(/^INVARIANTS\s+(.*)$/m)[1].split(/\s+/)
const violated = result.error_type === "InvariantViolation" &&
    invariants[Number(result.error_message.match(/\d+/)[0])]
const found = result.success ? "right" : violated ? "breaks " + violated : result.error_message
const passed = result.success ? !broken : violated && violated === broken

console.log([basename(argv[2], ".cfg").padEnd(13), `${result.states_explored}`.padStart(8), "states",
    seconds.toFixed(1).padStart(6), "s ", passed ? found : `FAILED: ${found}`, "-", what].join(" "))
if (!passed && result.trace) console.log(result.trace.join("\n"))
exit(passed ? 0 : 1)
