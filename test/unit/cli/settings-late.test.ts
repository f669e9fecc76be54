/** Configuration files are read no sooner than a setting is asked for. */
import { expect, test } from "bun:test"
import { join } from "node:path"
import { Machine } from "../../support/machine.ts"

/** A command that writes a configuration file and then asks for what stands in it. */
const PROGRAM = `
import { writeFileSync } from "node:fs"
import { runCli } from ${JSON.stringify(join(import.meta.dir, "../../../src/cli/router.ts"))}
await runCli(["late"], {
  meta: { name: "late", description: "", badOptions: "unread" },
  run({ env, out }) {
    writeFileSync("settings.toml", "[restore]\\nbudget = 4711\\n[secrets]\\nenabled = false")
    out.print([env.config["restore.budget"], env.secrets.enabled, env.resolved.problems.length, env.broken.length].join())
  },
})
`

/** Every command read the configuration files before it began, also those that ask for no setting, as a search. */
test("configuration files are read when a setting is asked for", () => {
  using machine = new Machine()
  const { stdout, stderr, exitCode } = Bun.spawnSync([process.execPath, "-e", PROGRAM], {
    cwd: machine.cwd,
    env: { ...machine.env, CTXBRIDGE_CONFIG: join(machine.cwd, "settings.toml") },
  })
  expect({ stdout: stdout.toString(), stderr: stderr.toString(), exitCode }).toEqual({
    stdout: "4711,false,0,0\n",
    stderr: "",
    exitCode: 0,
  })
})
