// checker.mjs - tla-checker (npm), which build/proof has.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { cwd } from "node:process"
import { pathToFileURL } from "node:url"

const checker = join(cwd(), "build/proof/node_modules/tla-checker")
const { initSync, check_spec_with_options } =
    await import(pathToFileURL(join(checker, "tla_checker.js")))
initSync({ module: readFileSync(join(checker, "tla_checker_bg.wasm")) })

// The checker's result for a specification and the text of its configuration, with `violated`, the
// name of the broken invariant.
export function check(spec, config, limits) {
    const result = JSON.parse(check_spec_with_options(spec, JSON.stringify({
        cfg_source: config, ...limits,
    })))
    const invariants = config.match(/^INVARIANTS\s+(.*)$/m)[1].split(/\s+/)
    if (result.error_type === "InvariantViolation")
        result.violated = invariants[Number(result.error_message.match(/\d+/)[0])]
    return result
}
