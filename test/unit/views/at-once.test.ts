/** Files that several processes write at once: what one adds while another replaces or removes is not lost. */
import { afterAll, expect, setDefaultTimeout, test } from "bun:test"
import { closeSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { tryLock } from "../../../src/base/libc.ts"
import { openLock } from "../../../src/base/lock.ts"
import { changeState, readState, writeState } from "../../../src/hook/state.ts"
import { FILTERED } from "../../../src/secrets/filter.ts"
import { vaultFile, vaultPath } from "../../../src/vault/layout.ts"
import { prepareSpool, spoolFolders } from "../../../src/vault/spool-folders.ts"
import { drainSpool } from "../../../src/views/drain-spool.ts"
import { followVault, keepNote } from "../../../src/views/kept-notes.ts"
import { listPending } from "../../../src/views/pending.ts"
import { changingSessions, sessionFolder } from "../../../src/views/session-files.ts"
import { contentOf } from "../../support/machine.ts"

setDefaultTimeout(60_000)

const SOURCE = join(import.meta.dir, "../../../src")
const dir = mkdtempSync(join(tmpdir(), "ctxbridge-at-once-"))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

/** Another process; it has begun when this returns. */
async function started(script: string) {
  const child = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stderr: "pipe" })
  await child.stdout.getReader().read()
  return child
}

const ended = async (child: Awaited<ReturnType<typeof started>>): Promise<void> => {
  expect([await child.exited, await child.stderr.text()]).toEqual([0, ""])
}

test("who changes files of sessions is alone, and waits for nobody for long", () => {
  const dataHome = join(dir, "alone")
  mkdirSync(sessionFolder(dataHome), { recursive: true })
  const other = openLock(join(dataHome, "sessions.lock"))
  expect(changingSessions(dataHome, () => tryLock(other))).toBe(false)
  expect(tryLock(other)).toBe(true)
  // One that was stopped while it was at it.
  writeState(dataHome, "s", { seenAt: 1 })
  changeState(dataHome, "s", { seenAt: 1 }, { seenAt: 2 })
  expect(readState(dataHome, "s")).toEqual({ seenAt: 2 })
  closeSync(other)
})

test("markers that come while the spool is emptied arrive", async () => {
  const paths = {
    home: dir,
    dataHome: join(dir, "data"),
    stateHome: join(dir, "state"),
    claudeDir: dir,
    hostConfig: dir,
    configFile: join(dir, "none"),
    temporary: dir,
    secrets: FILTERED,
    exclude: [],
  }
  mkdirSync(paths.dataHome)
  const folder = spoolFolders(paths)[0]!
  expect(prepareSpool(folder)).toBe(true)
  const count = 300
  const child = await started(`
    import { spoolMarker } from ${JSON.stringify(join(SOURCE, "views/spool.ts"))}
    process.stdout.write("ready")
    for (let n = 0; n < ${count}; n++)
      spoolMarker(${JSON.stringify(paths)}, { path: "/p/" + n + ".jsonl", copy: "home/p/" + n + ".jsonl.zst", session: "s" + n })
  `)
  while (child.exitCode === null) {
    drainSpool(paths, Number.POSITIVE_INFINITY)
    await Bun.sleep(0)
  }
  await ended(child)
  // What killed processes have left keeps nothing there.
  prepareSpool(folder)
  for (const name of ["pending", "sessions"]) {
    mkdirSync(join(folder, name), { recursive: true })
    writeFileSync(join(folder, name, "half.json.4242"), "{")
  }
  drainSpool(paths, Number.POSITIVE_INFINITY)
  expect(listPending(paths.dataHome)).toHaveLength(count)
  expect(existsSync(folder)).toBe(false)
})

test("notes that come while others are taken out are kept", async () => {
  const dataHome = join(dir, "notes-home")
  mkdirSync(dataHome)
  const place = { dataHome, home: dir, secrets: FILTERED }
  const keep = (text: string): void =>
    keepNote(place, { text, project: "/p", folder: "/p", keptIn: undefined, now: 1_700_000_000_000 })
  const secret = `ghp_${"9fK2mQ7xW4".repeat(4)}`
  keep(`note ${secret}`)
  keep("note 0")
  const [name] = [...new Bun.Glob("*.jsonl").scanSync(join(dataHome, "notes"))]
  const path = join(dataHome, "notes", name!)
  // It puts back what the vault does not hold, so that it is taken out each time.
  const child = await started(`
    import { closeSync, openSync, writeSync } from "node:fs"
    import { followVault } from ${JSON.stringify(join(SOURCE, "views/kept-notes.ts"))}
    process.stdout.write("ready")
    setInterval(() => {
      const fd = openSync(${JSON.stringify(path)}, "r+")
      writeSync(fd, ${JSON.stringify(secret)}, ${readFileSync(path, "utf8").indexOf(secret)})
      closeSync(fd)
      followVault(${JSON.stringify(dataHome)})
    }, 1)
  `)
  for (let n = 1; n <= 60; n++) {
    keep(`note ${n}`)
    await Bun.sleep(0)
  }
  child.kill()
  await child.exited
  followVault(dataHome)
  const kept = contentOf(vaultFile(dataHome, vaultPath(path, "")))
  expect(kept.equals(readFileSync(path))).toBe(true)
  expect(kept.toString()).not.toContain(secret)
  for (let n = 0; n <= 60; n++) expect(kept.toString()).toContain(`"note ${n}"`)
})
