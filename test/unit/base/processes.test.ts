import { expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { processesIn } from "../../../src/base/processes.ts"
import { tempFolder } from "../../support/temp.ts"

/** `ps` of BSD: its letters, and its way to print, from what this system knows. */
const BSD_PS = `#!${process.execPath}
import { readdirSync, readFileSync } from "node:fs"
if (process.argv.slice(2).join(" ") !== "-axwwE -o pid=,command=") process.exit(1)
for (const pid of readdirSync("/proc").filter(Number)) {
  const words = (name) => readFileSync("/proc/" + pid + "/" + name, "utf8").replaceAll("\\0", " ").replaceAll("\\n", "\\\\n")
  try {
    console.log(pid.padStart(5) + " " + words("cmdline") + words("environ"))
  } catch {}
}
`

const ASK = `import { processesIn } from ${JSON.stringify(join(import.meta.dir, "../../../src/base/processes.ts"))}
console.log(JSON.stringify(processesIn(process.argv[1], "/none")))`

/** On Linux, the ways of both systems; elsewhere, the one of that system. */
test("processes are found by their environment, with /proc and without", async () => {
  using folder = tempFolder()
  if (process.platform === "linux") writeFileSync(join(folder.path, "ps"), BSD_PS, { mode: 0o755 })
  const env = { PATH: `${folder.path}:${process.env["PATH"]}` }
  /** In a process of its own, since programs are looked up where the PATH was at its start. */
  const withoutProc = (word: string): number[] =>
    JSON.parse(String(Bun.spawnSync([process.execPath, "-e", ASK, word], { env }).stdout))
  const word = join(folder.path, "archive")
  const child = Bun.spawn(["sleep", "60"], { env: { ...env, CTXBRIDGE_HOME: word } })
  try {
    expect(processesIn(word)).toEqual([child.pid])
    expect(withoutProc(word)).toEqual([child.pid])
    expect(withoutProc(`${word}-of-nobody`)).toEqual([])
  } finally {
    child.kill()
    await child.exited
  }
  expect(withoutProc(word)).toEqual([])
})
