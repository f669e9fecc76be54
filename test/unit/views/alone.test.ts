/** Whoever replaces the views gets them alone, although readers keep coming, and those readers are all answered. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { closeSync, openSync } from "node:fs"
import { join } from "node:path"
import { lock } from "../../../src/base/lock.ts"
import { lockPath, open } from "../../../src/views/open.ts"
import { alone } from "../../../src/views/replace-database.ts"
import { tempFolder } from "../../support/temp.ts"

setDefaultTimeout(60_000)

const DOOR = join(import.meta.dir, "../../../src/views/open.ts")
const READERS = 4

/** Reads again and again, 40 ms each time, until its stdin ends; then tells how often. */
const reader = (dataHome: string) => `
  import { open } from ${JSON.stringify(DOOR)}
  let ended = false
  process.stdin.on("data", () => {}).on("end", () => { ended = true })
  for (let n = 1; ; n++) {
    const db = open(${JSON.stringify(dataHome)}, "look", 2000)
    db.query("SELECT count(*) FROM turns").get()
    if (n === 1) console.log("begun")
    for (const end = performance.now() + 40; performance.now() < end; );
    db.close()
    await new Promise((done) => setImmediate(done))
    if (ended) { console.log("read", n); break }
  }`

async function reading(dataHome: string) {
  const child = Bun.spawn([process.execPath, "-e", reader(dataHome)], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
  })
  const output = child.stdout.getReader()
  await output.read()
  return {
    async end() {
      child.stdin.end()
      return [await child.exited, await child.stderr.text()]
    },
  }
}

test("readers that come one after the other do not keep the views from being replaced", async () => {
  using folder = tempFolder()
  open(folder.path, "write", 0).close()
  const readers = await Promise.all(Array.from({ length: READERS }, () => reading(folder.path)))
  for (let n = 0; n < 3; n++) expect(alone(folder.path, 10_000, () => n)).toBe(n)
  for (const one of readers) expect(await one.end()).toEqual([0, ""])
})

test("somebody who has them for long keeps out who wants to be alone, and nobody else", () => {
  using folder = tempFolder()
  open(folder.path, "write", 0).close()
  const long = open(folder.path, "look", 0)
  expect(() => alone(folder.path, 1, () => 0)).toThrow("another process has the archive open")
  const other = open(folder.path, "look", 0)
  other.close()
  long.close()
  expect(alone(folder.path, 0, () => 1)).toBe(1)
})

test("a process that died while it waited keeps nobody out", () => {
  using folder = tempFolder()
  open(folder.path, "write", 0).close()
  const script = `
    import { openSync } from "node:fs"
    import { gatePath } from ${JSON.stringify(DOOR)}
    import { tryLock } from ${JSON.stringify(join(import.meta.dir, "../../../src/base/libc.ts"))}
    process.stdout.write(String(tryLock(openSync(gatePath(${JSON.stringify(folder.path)}), "a", 0o600))))
    process.kill(process.pid, "SIGKILL")`
  expect(Bun.spawnSync([process.execPath, "-e", script]).stdout.toString()).toBe("true")
  open(folder.path, "look", 0).close()
  const fd = openSync(lockPath(folder.path), "a")
  expect(lock(fd, 0)).toBe(true)
  closeSync(fd)
})
