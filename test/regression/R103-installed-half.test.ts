/** Where the host's state file could not be written, `install` failed with the hooks written already, and said nothing of them. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { chmodSync, chownSync, existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

setDefaultTimeout(60_000)

/** To root nothing is write-protected. */
const NOBODY = 65_534
const isRoot = process.getuid?.() === 0
const setpriv = Bun.which("setpriv")

test.skipIf(isRoot && setpriv === null).each([[], ["--dry-run"]])(
  "a file that is write-protected: nothing is changed (%j)",
  async (...more) => {
    using machine = new Machine()
    const state = join(machine.home, ".claude.json")
    writeFileSync(state, "{}")
    chmodSync(state, 0o444)
    if (isRoot) for (const path of [machine.root, machine.home, state]) chownSync(path, NOBODY, NOBODY)
    const through = isRoot ? [setpriv!, `--reuid=${NOBODY}`, "--clear-groups"] : []
    const nobody = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd, through })
    if ((await nobody("--version")).code !== 0) return console.warn("skipped: nobody may run the binary here")
    const ran = await nobody("install", ...more)
    expect(ran).toMatchObject({ code: 1, stdout: "" })
    expect(ran.stderr).toStartWith(`ctxbridge: cannot change ${state}: EACCES`)
    expect(readFileSync(state, "utf8")).toBe("{}")
    for (const path of [join(machine.home, ".claude"), machine.dataHome]) expect(existsSync(path)).toBe(false)
  },
)
