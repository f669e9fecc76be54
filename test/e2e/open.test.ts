/** `ctxbridge open` of the compiled binary: its page is opened by what the system opens pages with, without a shell. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(120_000))

test.skipIf(process.platform !== "linux")("--open", async () => {
  using machine = new Machine()
  const session = machine.session().turn("A zebra; with `stripes`").flush()
  const env = { ...machine.env, PATH: join(machine.root, "bin") }
  const cli = (...args: string[]) => run(args, { env, cwd: machine.cwd })
  await cli("import")
  const folder = join(machine.cwd, "a b; touch x")
  mkdirSync(folder)
  const file = join(folder, "page.html")
  const view = (...more: string[]) => cli("open", session.session, "--output", file, "--force", ...more)
  const missing = await view("--open")
  expect(missing).toMatchObject({ code: 1, stdout: `${file}\n` })
  expect(missing.stderr).toMatch(
    /^ctxbridge: xdg-open cannot open the page: .*\nhint: open .* in a browser\n$/,
  )
  mkdirSync(env.PATH)
  const opener = join(env.PATH, "xdg-open")
  const opened = join(machine.root, "opened")
  writeFileSync(opener, `#!/bin/sh\nprintf '%s\\n' "$#" "$1" > '${opened}'\n`)
  chmodSync(opener, 0o755)
  const shown = await view("--open")
  expect(shown).toMatchObject({ code: 0, stderr: "", stdout: `${file}\n` })
  expect(readFileSync(opened, "utf8")).toBe(`1\n${pathToFileURL(file).href}\n`)
  const [, handle] = /id="ctx-(\w+)"/.exec(readFileSync(file, "utf8"))!
  const again = await cli("open", `ctx:${handle}`, "--open")
  expect(again).toMatchObject({ code: 0, stderr: "" })
  // Two seconds are for an opener that stays.
  expect(Math.min(shown.ms, again.ms)).toBeLessThan(missing.ms + 1900)
  const kept = join(machine.dataHome, "pages", `${session.session}.html`)
  expect(readFileSync(opened, "utf8")).toBe(`1\n${pathToFileURL(kept).href}#ctx-${handle}\n`)
  writeFileSync(opener, "#!/bin/sh\nexit 3\n")
  const failed = await view("--open", "--json")
  expect(failed).toMatchObject({ code: 1, stderr: "" })
  expect(JSON.parse(failed.stdout).error.code).toBe("no-opener")
})
