/**
 * What `verify`, `import`, `doctor`, `rebuild`, `search`, `show` and `forget` say and do of copies that somebody has
 * emptied, cut, changed or removed: with the transcript still there, and with it gone.
 */
import { describe, expect, test } from "bun:test"
import { mkdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { readList } from "../../../src/vault/copy-list.ts"
import { tailOf } from "../../../src/vault/reader.ts"
import { databasePath } from "../../../src/views/database.ts"
import { listVault } from "../../../src/views/list-vault.ts"
import { doneIn } from "../../support/events.ts"
import { findings, states } from "../../support/examined.ts"
import { Inside, run } from "../../support/inside.ts"
import { contentOf, type Machine } from "../../support/machine.ts"
import type { Transcript } from "../../support/transcript.ts"

const there = (machine: Machine, ...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })

interface World {
  readonly machine: Inside
  readonly sound: Transcript
  readonly hurt: Transcript
  /** Absolute path of the copy that gets hurt. */
  readonly copy: string
  /** The copy when it held only a part. */
  readonly earlier: Buffer
}

/** Two sessions, archived; the second in several frames. */
async function archived(): Promise<World> {
  const machine = new Inside()
  const sound = machine.session().turn("Keep the lantern lit.").flush()
  const hurt = machine.session().turn("Oil the drawbridge.").flush()
  expect((await there(machine, "import")).code).toBe(0)
  const copy = machine.copy(hurt.path)
  const earlier = readFileSync(copy)
  for (const word of ["portcullis", "barbican", "gatehouse"]) {
    hurt.turn(`Paint the ${word}.`).flush()
    expect((await there(machine, "import")).code).toBe(0)
  }
  return { machine, sound, hurt, copy, earlier }
}

function flip(file: string, at: number): void {
  const bytes = readFileSync(file)
  bytes[at]! ^= 0x04
  writeFileSync(file, bytes)
}

type Damage = (world: World) => void

/** Nothing of it is left, or less than there was. */
const LOSSES: Readonly<Record<string, Damage>> = {
  removed: ({ copy }) => rmSync(copy),
  emptied: ({ copy }) => truncateSync(copy, 0),
  "cut in half": ({ copy }) => truncateSync(copy, Math.floor(statSync(copy).size / 2)),
  "replaced by an older one": ({ copy, earlier }) => writeFileSync(copy, earlier),
  "its project's folder removed": ({ copy }) => rmSync(dirname(copy), { recursive: true }),
}

/** All of it is there, and some of it cannot be read. */
const FAULTS: Readonly<Record<string, Damage>> = {
  "a bit of a frame flipped": ({ copy }) => flip(copy, tailOf(copy)!.headerLength + 30),
  "a bit of the last frame flipped": ({ copy }) => flip(copy, tailOf(copy)!.last!.position + 20),
  "a bit of a note flipped": ({ copy }) => flip(copy, tailOf(copy)!.last!.position - 40),
  "a bit of the last note flipped": ({ copy }) => flip(copy, statSync(copy).size - 40),
  "a bit of the header flipped": ({ copy }) => flip(copy, 9),
  "a bit of the header's path flipped": ({ copy }) => flip(copy, readFileSync(copy).indexOf(".claude") + 3),
  "a bit of the header's id flipped": ({ copy }) => flip(copy, readFileSync(copy).indexOf('"id":"') + 7),
  "a piece in the middle zeroed": ({ copy }) => {
    const bytes = readFileSync(copy)
    const middle = Math.floor(bytes.length / 2)
    writeFileSync(copy, bytes.fill(0, middle - 150, middle + 150))
  },
  "cut off in front": ({ copy }) => writeFileSync(copy, readFileSync(copy).subarray(300)),
}

const WORDS = ["drawbridge", "portcullis", "barbican", "gatehouse"]

async function finds(machine: Machine, word: string): Promise<boolean> {
  const { stdout } = await there(machine, "search", word, "--json")
  return (JSON.parse(stdout).hits ?? []).some((hit: { prompt: string | null; snippet: string }) =>
    `${hit.prompt} ${hit.snippet}`.includes(word),
  )
}

async function foundWords(machine: Machine): Promise<string[]> {
  const found: string[] = []
  for (const word of WORDS) if (await finds(machine, word)) found.push(word)
  return found
}

describe("while the transcript is there", () => {
  for (const [name, damage] of Object.entries({ ...LOSSES, ...FAULTS })) {
    test(`${name}: import alone makes the copy whole, under its id`, async () => {
      const world = await archived()
      using machine = world.machine
      const { hurt, copy } = world
      const { id } = tailOf(copy)!.header
      damage(world)
      expect((await there(machine, "verify")).code).toBe(1)
      expect(await there(machine, "import")).toMatchObject({ code: 0, stderr: "" })
      expect(contentOf(copy).equals(readFileSync(hurt.path))).toBe(true)
      expect(tailOf(copy)!.header.id).toBe(id)
      expect(await there(machine, "verify")).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/All good: every archived byte was checked, nothing is missing\.\n$/),
      })
      expect(await foundWords(machine)).toEqual(WORDS)
      expect((await there(machine, "rebuild")).code).toBe(0)
      expect(await foundWords(machine)).toEqual(WORDS)
    })

    test(`${name}: so does doctor --fix, and import without a look before`, async () => {
      for (const mend of [
        async (machine: Inside) => void (await states(machine, "vault", "--fix")),
        async (machine: Inside) => void (await there(machine, "import")),
      ]) {
        const world = await archived()
        using machine = world.machine
        damage(world)
        await mend(machine)
        expect(await states(machine, "vault", "--deep")).toEqual(["ok"])
        expect((await there(machine, "verify")).code).toBe(0)
        expect(await foundWords(machine)).toEqual(WORDS)
      }
    })
  }

  test("a copy that a hook begins again is the former one to the views", async () => {
    const world = await archived()
    using machine = world.machine
    LOSSES["removed"]!(world)
    world.hurt.turn("Paint the moat.").flush()
    expect(await machine.hook("stop", world.hurt)).toMatchObject({ code: 0, stdout: "", stderr: "" })
    expect(await foundWords(machine)).toEqual(WORDS)
    for (const word of [...WORDS, "moat"]) {
      const [hit] = JSON.parse((await there(machine, "search", word, "--json")).stdout).hits
      expect({ word, lost: hit.isLost }).toEqual({ word, lost: undefined })
      expect((await there(machine, "show", hit.handle)).code).toBe(0)
    }
    const { turns } = JSON.parse((await there(machine, "show", world.hurt.session, "--json")).stdout)
    expect(turns).toHaveLength(WORDS.length + 1)
    rmSync(world.hurt.path)
    expect(await there(machine, "verify")).toMatchObject({ code: 0 })
    listVault(machine.dataHome)
    expect(readList(machine.dataHome).copies.size).toBe(2)
  })

  test("what was mended is told, and in which order it comes does not matter", async () => {
    const world = await archived()
    using machine = world.machine
    FAULTS["a bit of a frame flipped"]!(world)
    expect((await there(machine, "rebuild")).code).toBe(1)
    expect(await foundWords(machine)).toEqual(WORDS)
    const done = doneIn((await there(machine, "import", "--json")).stdout)
    expect(done).toMatchObject({ ok: true, mended: [{ path: world.hurt.path }] })
    expect(done.mended[0]!.bytes).toBeGreaterThan(0)
    const again = doneIn((await there(machine, "import", "--json")).stdout)
    expect(again).toMatchObject({ ok: true, mended: [], takenBytes: 0 })
  })

  test("a copy that differs from its transcript as well is kept aside, and is not mended", async () => {
    const world = await archived()
    using machine = world.machine
    FAULTS["a bit of a frame flipped"]!(world)
    const text = readFileSync(world.hurt.path, "utf8")
    writeFileSync(world.hurt.path, text.replace("barbican", "BARBICAN"))
    expect(doneIn((await there(machine, "import", "--check", "--json")).stdout)).toMatchObject({ mended: [] })
    expect(contentOf(world.copy).toString()).toContain("BARBICAN")
    const { code, stdout } = await there(machine, "verify", "--json")
    expect({ code, damaged: JSON.parse(stdout).totals.damaged }).toEqual({ code: 1, damaged: 1 })
  })

  test("secrets and forgotten text stay out of what is mended", async () => {
    using machine = new Inside()
    const token = `ghp_${"a1B2".repeat(9)}`
    const session = machine.session().turn(`Use ${token} and the walnut casket.`).flush()
    expect((await there(machine, "import")).code).toBe(0)
    expect((await there(machine, "forget", "--yes", "--match", "walnut casket")).code).toBe(0)
    const copy = machine.copy(session.path)
    expect((await there(machine, "import")).code).toBe(0)
    flip(copy, tailOf(copy)!.headerLength + 30)
    expect((await there(machine, "import")).code).toBe(0)
    const content = contentOf(copy).toString()
    expect(content.length).toBe(statSync(session.path).size)
    expect(content).not.toContain(token)
    expect(content).not.toContain("walnut")
    expect((await there(machine, "verify")).code).toBe(0)
  })
})

describe("once the transcript is gone", () => {
  for (const [name, damage] of Object.entries(LOSSES)) {
    test(`${name}: everybody says so, and the last trace stays`, async () => {
      const world = await archived()
      using machine = world.machine
      const { hurt } = world
      rmSync(hurt.path)
      damage(world)
      const told = await there(machine, "verify")
      expect(told).toMatchObject({ code: 1, stderr: "" })
      expect(told.stdout).toContain(`session ${hurt.session}: the copy `)
      expect(JSON.parse((await there(machine, "verify", "--json")).stdout)).toMatchObject({
        ok: false,
        transcripts: expect.arrayContaining([
          expect.objectContaining({ state: expect.stringMatching(/^(lost|damaged)$/) }),
        ]),
      })
      expect(await findings(machine, "vault")).toContainEqual(
        expect.objectContaining({ state: "fail", details: [expect.stringContaining(hurt.session)] }),
      )
      expect((await there(machine, "import")).code).toBe(0)
      expect((await there(machine, "verify")).code).toBe(1)
      for (let times = 0; times < 2; times++) {
        const rebuilt = await there(machine, "rebuild")
        expect(rebuilt).toMatchObject({ code: 1, stderr: "" })
        expect(rebuilt.stdout).toContain(`of session ${hurt.session} are kept as the database had them`)
        expect(await foundWords(machine)).toEqual(WORDS)
        expect(await finds(machine, "lantern")).toBe(true)
      }
      // Without the database, the list still says what there was.
      for (const suffix of ["", "-wal", "-shm"])
        rmSync(databasePath(machine.dataHome) + suffix, { force: true })
      expect((await there(machine, "rebuild")).code).toBe(1)
      expect((await there(machine, "verify")).stdout).toContain(`session ${hurt.session}: the copy `)
      expect((await there(machine, "forget", "--yes", hurt.session)).code).toBe(0)
      expect(await there(machine, "verify")).toMatchObject({ code: 0 })
      expect(readFileSync(join(machine.dataHome, "vault", "copies.jsonl"), "utf8")).not.toContain(
        hurt.session,
      )
      expect((await there(machine, "rebuild")).code).toBe(0)
      expect(await foundWords(machine)).toEqual([])
    })
  }

  test("the whole vault gone: the database knows of all, and keeps it", async () => {
    const world = await archived()
    using machine = world.machine
    for (const { path } of [world.sound, world.hurt]) rmSync(path)
    rmSync(join(machine.dataHome, "vault"), { recursive: true })
    mkdirSync(dirname(world.hurt.path), { recursive: true })
    const { code, stdout } = await there(machine, "verify", machine.home, "--json")
    expect({ code, lost: JSON.parse(stdout).totals.lost }).toEqual({ code: 1, lost: 2 })
    expect((await there(machine, "rebuild")).code).toBe(1)
    expect(await foundWords(machine)).toEqual(WORDS)
    expect(await finds(machine, "lantern")).toBe(true)
  })

  test("a frame that cannot be read: the rest is in the views, and the gap is named", async () => {
    const world = await archived()
    using machine = world.machine
    rmSync(world.hurt.path)
    FAULTS["a bit of a frame flipped"]!(world)
    for (const suffix of ["", "-wal", "-shm"])
      rmSync(databasePath(machine.dataHome) + suffix, { force: true })
    const { code, stdout } = await there(machine, "rebuild")
    expect(code).toBe(1)
    expect(stdout).toMatch(/\nbytes 0 to \d+ cannot be read, all others are: home\//)
    expect(await foundWords(machine)).toEqual(WORDS.slice(1))
  })

  test("what the former views had of it comes over", async () => {
    const world = await archived()
    using machine = world.machine
    rmSync(world.hurt.path)
    FAULTS["a bit of a frame flipped"]!(world)
    const { code, stdout } = await there(machine, "rebuild")
    expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringContaining("bytes 0 to ") })
    expect(await foundWords(machine)).toEqual(WORDS)
  })

  test("a session that goes on in another copy keeps both, in their order", async () => {
    using machine = new Inside()
    const session = machine.session().turn("Sweep the chimney.").flush()
    expect((await there(machine, "import")).code).toBe(0)
    // Claude Code writes it anew: the former copy is set aside.
    writeFileSync(session.path, readFileSync(session.path, "utf8").replaceAll("chimney", "CHIMNEY"))
    session.turn("Scrub the hearth.").flush()
    expect((await there(machine, "import", "--check")).code).toBe(0)
    const aside = machine.copy(session.path).replace(".jsonl.zst", ".~1.jsonl.zst")
    const before = JSON.parse((await there(machine, "show", session.session, "--json")).stdout)
    rmSync(aside)
    expect((await there(machine, "verify")).stdout).toContain(`session ${session.session}: the copy is gone`)
    expect((await there(machine, "rebuild")).code).toBe(1)
    const after = JSON.parse((await there(machine, "show", session.session, "--json")).stdout)
    const prompts = (shown: typeof before) => shown.turns.map(({ prompt }: { prompt: string }) => prompt)
    expect(prompts(after)).toEqual(prompts(before))
  })

  test("a hit and a turn say that the copy is missing", async () => {
    const world = await archived()
    using machine = world.machine
    rmSync(world.hurt.path)
    LOSSES["removed"]!(world)
    for (const stage of ["before", "after"]) {
      if (stage === "after") expect((await there(machine, "rebuild")).code).toBe(1)
      const { stdout } = await there(machine, "search", "barbican")
      expect(stdout).toContain("copy missing")
      const { hits } = JSON.parse((await there(machine, "search", "barbican", "--json")).stdout)
      expect(hits[0]).toMatchObject({ isLost: true })
      const shown = await there(machine, "show", hits[0].handle)
      expect(shown).toMatchObject({ code: 1, stderr: "" })
      expect(shown.stdout).toContain("Only this is left in the database: the vault has no copy ")
      expect(shown.stdout).toContain("Paint the barbican.")
    }
    expect((await there(machine, "search", "lantern")).stdout).not.toContain("copy missing")
  })

  test("a loss that is accepted is reported no more, and what is left stays", async () => {
    const world = await archived()
    using machine = world.machine
    const backup = readFileSync(world.copy)
    rmSync(world.hurt.path)
    LOSSES["removed"]!(world)
    expect((await there(machine, "rebuild")).code).toBe(1)
    const missing = async () => JSON.parse((await there(machine, "status", "--json")).stdout).missing
    expect(await missing()).toBe(1)
    expect(await there(machine, "verify", "--accept-loss")).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^1 lost copy will not be reported again\n/),
    })
    expect((await there(machine, "verify")).code).toBe(0)
    expect((await there(machine, "rebuild")).code).toBe(0)
    expect(await missing()).toBe(0)
    expect(await foundWords(machine)).toEqual(WORDS)
    // Once it is back, losing it is a loss again.
    writeFileSync(world.copy, backup)
    listVault(machine.dataHome)
    LOSSES["removed"]!(world)
    expect((await there(machine, "verify")).code).toBe(1)
  })

  test("a copy that comes back from a backup is whole again", async () => {
    const world = await archived()
    using machine = world.machine
    const backup = readFileSync(world.copy)
    rmSync(world.hurt.path)
    LOSSES["removed"]!(world)
    expect((await there(machine, "rebuild")).code).toBe(1)
    writeFileSync(world.copy, backup)
    expect((await there(machine, "verify")).code).toBe(0)
    expect(await there(machine, "rebuild")).toMatchObject({ code: 0, stderr: "" })
    const { hits } = JSON.parse((await there(machine, "search", "barbican", "--json")).stdout)
    expect(hits[0].isLost).toBeUndefined()
    expect((await there(machine, "show", hits[0].handle)).code).toBe(0)
  })

  test("a text that was forgotten does not come over with a copy that is lost", async () => {
    const world = await archived()
    using machine = world.machine
    expect((await there(machine, "forget", "--yes", "--match", "portcullis")).code).toBe(0)
    rmSync(world.hurt.path)
    LOSSES["removed"]!(world)
    expect((await there(machine, "rebuild")).code).toBe(1)
    expect(await foundWords(machine)).toEqual([])
    expect(readFileSync(databasePath(machine.dataHome)).includes("portcullis")).toBe(false)
  })
})

describe("the list", () => {
  const file = (machine: Machine): string => join(machine.dataHome, "vault", "copies.jsonl")

  test("a vault without one is as sound as before, and gets one", async () => {
    const { machine: made } = await archived()
    using machine = made
    rmSync(file(machine))
    expect((await there(machine, "verify")).code).toBe(0)
    expect((await there(machine, "import")).code).toBe(0)
    expect(readList(machine.dataHome).copies.size).toBe(2)
  })

  test("without one, the database tells of what is lost", async () => {
    const world = await archived()
    using machine = world.machine
    rmSync(file(machine))
    rmSync(world.hurt.path)
    rmSync(world.copy)
    expect((await there(machine, "verify")).stdout).toContain(
      `session ${world.hurt.session}: the copy is gone`,
    )
  })

  test("a line of it that is damaged is told of, and the others count", async () => {
    const world = await archived()
    using machine = world.machine
    flip(file(machine), 30)
    const { code, stdout } = await there(machine, "verify")
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringContaining("1 line of the vault's list"),
    })
    expect(await findings(machine, "vault")).toContainEqual(expect.objectContaining({ state: "warn" }))
    listVault(machine.dataHome)
    rmSync(world.hurt.path)
    rmSync(world.copy)
    expect((await there(machine, "verify")).code).toBe(1)
  })
})
