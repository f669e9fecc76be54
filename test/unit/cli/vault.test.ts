/** What doctor says of the copies in the vault, and that its repairs help. */
import { expect, test } from "bun:test"
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { dirname, join } from "node:path"
import { tailOf } from "../../../src/vault/reader.ts"
import { findings, states } from "../../support/examined.ts"
import { Inside, run } from "../../support/inside.ts"
import { contentOf } from "../../support/machine.ts"
import type { Transcript } from "../../support/transcript.ts"

const HOUR = 3600
const GONE = "60000000-0000-4000-8000-000000000001"

const age = (path: string): void => utimesSync(path, Date.now() / 1000 - HOUR, Date.now() / 1000 - HOUR)

async function archived(): Promise<{ machine: Inside; session: Transcript; copy: string }> {
  const machine = new Inside()
  const session = machine.session().turn("Kept.").flush()
  age(session.path)
  expect(await run(["import"], machine)).toMatchObject({ code: 0, stderr: "" })
  return { machine, session, copy: machine.copy(session.path) }
}

test("a copy that does not end whole is cut, and one without its transcript is a failure", async () => {
  const { machine, session, copy } = await archived()
  using _ = machine
  const sound = readFileSync(copy)
  appendFileSync(copy, "half a frame")
  expect(await findings(machine, "vault")).toMatchObject([
    { state: "warn", details: [expect.stringContaining("its last 12 bytes are not a complete frame")] },
  ])
  expect(await states(machine, "vault", "--fix")).toEqual(["ok"])
  expect(readFileSync(copy).equals(sound)).toBe(true)
  // Without the transcript, nobody knows what the half frame was to hold.
  appendFileSync(copy, "half a frame")
  rmSync(session.path)
  expect(await states(machine, "vault")).toEqual(["fail"])
})

test("a copy that does not begin whole is a failure", async () => {
  const { machine, copy } = await archived()
  using _ = machine
  writeFileSync(copy, "none of ours")
  expect(await states(machine, "vault")).toEqual(["fail"])
})

test("a copy that is damaged inside is found by a deep look, and mended", async () => {
  const { machine, session, copy } = await archived()
  using _ = machine
  const time = new Date(1_700_000_000_000)
  utimesSync(copy, time, time)
  expect((await run(["import"], machine)).code).toBe(0)
  const bytes = readFileSync(copy)
  bytes[bytes.length - 140]! ^= 0xff
  writeFileSync(copy, bytes)
  // Nothing tells that it was written, as when a disk gives back other bytes than it was given.
  utimesSync(copy, time, time)
  expect(await states(machine, "vault")).toEqual(["ok"])
  expect(await findings(machine, "vault", "--deep")).toMatchObject([
    { state: "fail", repair: { what: "mend 1 copy from Claude Code's files" } },
  ])
  const fixed = await states(machine, "vault", "--deep", "--fix")
  expect((await run(["export", session.session, "--raw"], machine)).stdout).toBe(
    readFileSync(session.path, "utf8"),
  )
  expect(fixed).toEqual(["ok"])
  expect(existsSync(copy.replace(".jsonl.zst", ".~1.jsonl.zst"))).toBe(false)
})

test("copies of files beside transcripts and of the list of prompts are mended, too", async () => {
  using machine = new Inside()
  const session = machine.session().turn("Kept.").flush()
  const output = machine.path(join(session.session, "tool-results", "b1.txt"))
  mkdirSync(dirname(output), { recursive: true })
  writeFileSync(output, "kept beside\n".repeat(100))
  const list = join(machine.home, ".claude", "history.jsonl")
  const prompt = { display: "Kept as a prompt", timestamp: 1.7e12, project: machine.cwd, sessionId: GONE }
  writeFileSync(list, `${JSON.stringify(prompt)}\n`)
  expect(await run(["import"], machine)).toMatchObject({ code: 0, stderr: "" })
  for (const path of [output, list]) {
    const copy = machine.copy(path)
    const bytes = readFileSync(copy)
    bytes[tailOf(copy)!.headerLength + 30]! ^= 0xff
    writeFileSync(copy, bytes)
  }
  expect(await findings(machine, "vault", "--deep")).toMatchObject([
    { state: "fail", repair: { what: "mend 2 copies from Claude Code's files" } },
  ])
  expect(await states(machine, "vault", "--fix", "--deep")).toEqual(["ok"])
  for (const path of [output, list])
    expect([path, contentOf(machine.copy(path)).toString()]).toEqual([path, readFileSync(path, "utf8")])
})

test("copies that were only begun, and folders in their places, are mended", async () => {
  const { machine } = await archived()
  using _ = machine
  const [begun, replaced] = [machine.session(), machine.session()]
  for (const [copy, make] of [
    [machine.copy(begun.path), (path: string) => writeFileSync(path, "")],
    [machine.copy(replaced.path), (path: string) => mkdirSync(join(path, "inside"), { recursive: true })],
  ] as const) {
    make(copy)
    age(copy)
  }
  for (const deep of [[], ["--deep"]] as const)
    expect(await findings(machine, "vault", ...deep)).toMatchObject([
      { state: "ok" },
      { state: "fail", details: [expect.stringContaining(replaced.session)] },
      { state: "warn", details: [expect.stringContaining(begun.session)] },
    ])
  expect((await run(["verify"], machine)).stdout).toContain("a folder is in the place of the copy")
  await findings(machine, "vault", "--fix")
  expect(await states(machine, "vault", "--deep")).toEqual(["ok"])
  expect(existsSync(machine.copy(begun.path))).toBe(false)
  expect(existsSync(join(`${machine.copy(replaced.path)}.aside-1`, "inside"))).toBe(true)
  expect(await run(["verify"], machine)).toMatchObject({ code: 0 })
})
