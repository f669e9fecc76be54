/** Lines that are made for the filter, or cut off: archived all the same, and in time. */
import { describe, expect, test } from "bun:test"
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { Inside, run } from "../../support/inside.ts"
import { contentOf } from "../../support/machine.ts"

/**
 * A private key's mark at the end of a line that is no JSON, or of half a line at the end of a file, sent the filter round
 * for ever, and with it whoever archived: hook, import and background job. Of a key over several such lines only the first
 * was filled.
 */
describe("a private key's mark at the end of a line", () => {
  // In pieces, so that nobody takes this file for a leak.
  const mark = (which: string): string => `-----${which} RSA PRIVATE ${"KEY"}-----`
  const BODY = ["MIIEowIBAAKCAQEA7bq9Zm3", "XyZ0123456789abcdefghij"]

  test.each([
    ["a line that ends with it", `no JSON: ${mark("BEGIN")}\n`],
    ["half a line at the end", `{"type":"user","message":{"content":"${mark("BEGIN")}`],
    ["a key over lines", `${mark("BEGIN")}\n${BODY.join("\n")}\n${mark("END")}\n`],
    ["an end without a beginning", `no JSON\n${mark("END")}\n`],
  ])(
    "%s is archived",
    async (_name, text) => {
      using machine = new Inside()
      const session = machine.session()
      session.turn("before it").flush()
      appendFileSync(session.path, text)
      expect(await machine.hook("stop", session)).toMatchObject({ code: 0, stdout: "", stderr: "" })
      const other = machine.path("00000000-0000-4000-8000-000000000000.jsonl")
      mkdirSync(dirname(other), { recursive: true })
      writeFileSync(other, text)
      const imported = await run(["import"], { env: machine.env, cwd: machine.cwd })
      expect(imported).toMatchObject({ code: 0, stderr: "" })
      expect(await run(["verify"], { env: machine.env })).toMatchObject({ code: 0, stderr: "" })
      const kept = text.endsWith("\n") ? contentOf(machine.copy(other)).toString() : ""
      if (kept !== "") expect(kept).toHaveLength(text.length)
      for (const line of BODY) expect(kept).not.toContain(line)
    },
    30_000,
  )
})

/**
 * The filter for secrets took minutes for a megabyte of marks of private keys, of `key:key:…`, of mentioned tags or of
 * `eyJeyJ…`, since it read on from each: hooks were stopped by the host before they had archived anything, again and again. Now it is a second or two; by
 * the old way these would run into the time limit of the test.
 */
describe("megabytes of beginnings that lead nowhere", () => {
  const SIZE = 2 << 20
  const mark = (which: string): string => `-----${which} RSA PRIVATE ${"KEY"}-----`

  test.each([
    ["marks of beginnings", `${mark("BEGIN")}\n`],
    ["marks of ends", `${mark("END")}\n`],
    ["operators", "key:"],
    ["operators, percent-encoded", "%41key:"],
    ["mentions of a tag", "`<private>` "],
    ["beginnings of tokens in one word", "eyJghp_"],
  ])("%s", async (_name, piece) => {
    using machine = new Inside()
    const session = machine.session()
    session.turn(piece.repeat(SIZE / piece.length)).flush()
    const imported = await run(["import"], { env: machine.env, cwd: machine.cwd })
    expect(imported).toMatchObject({ code: 0, stderr: "" })
    expect(await run(["verify"], { env: machine.env })).toMatchObject({ code: 0, stderr: "" })
  })

  test("many strings before a tag", async () => {
    using machine = new Inside()
    const content = [...Array.from({ length: SIZE / 4 }, () => "a"), "<private>b</private>"]
    const session = machine
      .session()
      .line({ type: "user", message: { role: "user", content } })
      .flush()
    const imported = await run(["import"], { env: machine.env, cwd: machine.cwd })
    expect(imported).toMatchObject({ code: 0, stderr: "" })
    expect(contentOf(machine.copy(session.path)).toString()).toContain('"<private>*</private>"')
  })
})
