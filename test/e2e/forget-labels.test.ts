/** What `forget` and `redact` do to labels: to what people have written about turns, apart from what was said in them. */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { forget } from "../../src/job/forget-sessions.ts"
import { findText } from "../../src/job/forget-text.ts"
import { textFinder } from "../../src/record/find-text.ts"
import { type Ran, run } from "../support/binary.ts"
import { holding } from "../support/held.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import { filesWith } from "../support/traces.ts"
import type { Transcript } from "../support/transcript.ts"

setDefaultTimeout(limit(120_000))

// Made of pieces, so that nobody takes this file for a leak.
const SECRET = ["ghp", "0123456789abcdefghijABCDEFGHIJ012345"].join("_")

class Desk extends Machine {
  readonly file = join(this.dataHome, "labels.json")
  readonly cli = (...args: string[]): Promise<Ran> => run(args, { env: this.env, cwd: this.cwd })
  readonly ok = async (...args: string[]): Promise<string> => {
    const ran = await this.cli(...args)
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    return ran.stdout
  }
  readonly labels = () => JSON.parse(readFileSync(this.file, "utf8")).labels

  /** Two sessions, and the handle of the second's turn. */
  async filled(): Promise<{ quokka: Transcript; wombat: Transcript; handle: string }> {
    const quokka = this.session().turn("The quokka of alpha", [], "It is fed.").flush()
    const wombat = this.session().turn("The wombat of beta", [], "It sleeps.").flush()
    await this.ok("import")
    const { hits } = JSON.parse(await this.ok("search", "wombat", "--json"))
    return { quokka, wombat, handle: hits[0].handle }
  }
}

/** A forget that met them stopped behind the vault, for good: the views kept what was said, and search printed it. */
describe("labels that cannot be read", () => {
  const DAMAGED = '{"labels": [ {"session": "x", ]'

  test("forget removes everything else, then says so", async () => {
    using desk = new Desk()
    const { quokka } = await desk.filled()
    writeFileSync(desk.file, DAMAGED)
    const ran = await desk.cli("forget", quokka.session, "--yes")
    expect(ran).toMatchObject({ code: 1, stderr: "" })
    expect(ran.stdout).toContain("Forgot 1 session")
    expect(ran.stdout).toContain("not read: labels.json: it is no list of labels")
    expect(filesWith(desk.dataHome, "quokka")).toEqual([])
    expect(readFileSync(desk.file, "utf8")).toBe(DAMAGED)
    expect(JSON.parse(await desk.ok("forget", "--list", "--json")).unfinished).toEqual([])
    const matched = await desk.cli("forget", "--match", "wombat", "--yes", "--json")
    expect(matched.code).toBe(1)
    expect(JSON.parse(matched.stdout)).toMatchObject({ ok: false, failed: [{ copy: "labels.json" }] })
    expect(filesWith(desk.dataHome, "wombat")).toEqual([])
    // Mended, it is cleaned by the same command.
    const label = { session: quokka.session, tags: ["quokka"], handle: null }
    writeFileSync(desk.file, JSON.stringify({ labels: [label] }))
    await desk.ok("forget", quokka.session, "--yes")
    expect(existsSync(desk.file)).toBe(false)
  })

  test("redact overwrites everything else, then says so", async () => {
    using desk = new Desk()
    desk.session().turn(`Push with ${SECRET} please`).flush()
    const env = { ...desk.env, CTXBRIDGE_SECRETS: "false" }
    expect(await run(["import"], { env, cwd: desk.cwd })).toMatchObject({ code: 0 })
    writeFileSync(desk.file, DAMAGED)
    expect(await desk.cli("redact", "--dry-run")).toMatchObject({ code: 1 })
    const ran = await desk.cli("redact")
    expect(ran).toMatchObject({ code: 1, stderr: "" })
    expect(ran.stdout).toContain("not searched: labels.json: it is no list of labels")
    expect(filesWith(desk.dataHome, SECRET)).toEqual([])
    expect(readdirSync(desk.dataHome)).not.toContain("redacting")
    rmSync(desk.file)
    await desk.ok("redact")
  })
})

test("a secret in a label alone leaves the pages, too", async () => {
  using desk = new Desk()
  const { handle } = await desk.filled()
  await desk.ok("tag", handle, "--rejected", "because")
  writeFileSync(desk.file, readFileSync(desk.file, "utf8").replace("because", SECRET))
  await desk.ok("open", "--all-projects")
  expect(filesWith(join(desk.dataHome, "pages"), SECRET)).not.toEqual([])
  await desk.ok("redact")
  expect(filesWith(desk.dataHome, SECRET)).toEqual([])
})

describe("a text that stands in labels", () => {
  const reject = async (desk: Desk, handle: string, why: string) =>
    void (await desk.ok("tag", handle, "--rejected", why))

  test("goes also if it is JSON by itself, and is counted", async () => {
    using desk = new Desk()
    const { handle } = await desk.filled()
    for (const word of ["4929123412341234", "null", "true"]) {
      await reject(desk, handle, word)
      await desk.ok("tag", handle, word)
      const planned = await desk.ok("forget", "--match", word, "--dry-run")
      expect(planned).toBe("Not found in the vault\nWould take it out of 1 label\n")
      expect(filesWith(desk.dataHome, word)).toContain(desk.file)
      const done = await desk.ok("forget", "--match", word, "--yes", "--json")
      expect(JSON.parse(done)).toMatchObject({ ok: true, places: 0, labels: 1 })
      expect(desk.labels()).toMatchObject([{ handle, tags: [], verdict: "rejected", note: null }])
    }
  })

  test("stays in those of sessions that were not meant", async () => {
    using desk = new Desk()
    const { quokka, wombat } = await desk.filled()
    for (const { session } of [quokka, wombat]) await desk.ok("tag", session, "release", "other")
    const ran = await desk.ok("forget", quokka.session, "--match", "release", "--yes")
    expect(ran).toBe("Not found in the vault\nTook it out of 1 label\n")
    expect(desk.labels()).toMatchObject([
      { session: quokka.session, tags: ["other"] },
      { session: wombat.session, tags: ["release", "other"] },
    ])
  })

  test("has left them when the background job finishes what was interrupted", async () => {
    using desk = new Desk()
    const { handle } = await desk.filled()
    await reject(desk, handle, "because quokka is a codename")
    const finder = textFinder("quokka")
    const now = () => findText(desk.dataHome, () => finder, { now: Date.now() }).tombstones
    await holding(desk.dataHome, "compact.lock", async () =>
      expect(() =>
        forget(desk.dataHome, now, { wait: 0, matches: (bytes) => finder(bytes).length > 0 }),
      ).toThrow("not everything is forgotten yet"),
    )
    expect(JSON.parse(await desk.ok("forget", "--list", "--json")).unfinished).toHaveLength(1)
    await desk.ok("__job")
    await desk.idle()
    expect(JSON.parse(await desk.ok("forget", "--list", "--json")).unfinished).toEqual([])
    expect(filesWith(desk.dataHome, "quokka")).toEqual([])
    expect(desk.labels()).toMatchObject([{ handle, note: null }])
  })
})
