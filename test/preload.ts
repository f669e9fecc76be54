/** Nothing of the developer's own machine may reach a test: neither settings nor archives. */
import { afterAll } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setVariable } from "../src/base/libc.ts"

for (const name of Object.keys(process.env)) {
  if (/^(CTXBRIDGE_(?!TEST_|FUZZ)|CLAUDE_|CLAUDECODE|ANTHROPIC_|RUVECTOR_|PG|BUN_|XDG_)/.test(name))
    delete process.env[name]
}
const home = mkdtempSync(join(tmpdir(), "ctxbridge-test-home-"))
process.env["HOME"] = home
afterAll(() => rmSync(home, { recursive: true, force: true }))
process.env["TZ"] = "UTC"
// The same for the C library, which tells local times.
setVariable("TZ", "UTC")
