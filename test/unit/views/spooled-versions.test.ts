/**
 * Whatever Claude Code does to a transcript while the vault cannot be written: what a hook has seen of it is in the
 * vault afterwards, each version once, and the views find it.
 */
import { describe, expect, test } from "bun:test"
import {
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs"
import { dirname, join } from "node:path"
import type { PathsAndPolicy } from "../../../src/config/load.ts"
import { forget } from "../../../src/job/forget-sessions.ts"
import { findText } from "../../../src/job/forget-text.ts"
import { textFinder } from "../../../src/record/find-text.ts"
import { captureTranscript } from "../../../src/vault/capture.ts"
import { checkCopy } from "../../../src/vault/check-copy.ts"
import { behind, readTail, segmentsBackwards } from "../../../src/vault/copy-file.ts"
import { vaultFile } from "../../../src/vault/layout.ts"
import { listPending } from "../../../src/vault/pending.ts"
import { tailOf } from "../../../src/vault/reader.ts"
import { existingSpools, prepareSpool } from "../../../src/vault/spool-folders.ts"
import { vaultFiles } from "../../../src/vault/vault-files.ts"
import { verify } from "../../../src/vault/verify-vault.ts"
import { drainSpool } from "../../../src/views/drain-spool.ts"
import { catchUp } from "../../../src/views/indexing.ts"
import { takeToSpool } from "../../../src/views/spool.ts"
import { Archive } from "../../support/archive.ts"

const EDITS = {
  /** Claude Code goes on. */
  grown: (world: World) => world.write(world.lines),
  /** It goes back to a line and on from there, in the same file. */
  rewound: (world: World) => world.write(world.lines.slice(0, -1)),
  /** The same in a new file under the same name. */
  replaced: (world: World) => {
    const { lines } = world
    rmSync(world.path, { force: true })
    world.write(lines.slice(0, -1))
  },
  /** Nothing is as it was. */
  other: (world: World) => world.write([]),
  truncated: (world: World) => {
    if (world.text !== "") truncateSync(world.path, world.lines.slice(0, -1).join("").length)
  },
  deleted: (world: World) => rmSync(world.path, { force: true }),
} as const

const VAULTS = ["writable", "readable", "closed"] as const

type Step = readonly [edit: keyof typeof EDITS, vault: (typeof VAULTS)[number]]

class World {
  readonly archive = new Archive()
  readonly path = this.archive.session("one").path
  readonly #place = { dataHome: this.archive.dataHome, home: this.archive.root }
  readonly paths = {
    ...this.#place,
    stateHome: join(this.archive.root, "state"),
    temporary: join(this.archive.root, "tmp"),
    secrets: { enabled: true, patterns: [] },
    exclude: [],
  } as unknown as PathsAndPolicy
  /** What hooks have seen, in order. */
  readonly seen: string[] = []
  #count = 0
  #now = 1000

  get text(): string {
    try {
      return readFileSync(this.path, "utf8")
    } catch {
      return ""
    }
  }

  get lines(): string[] {
    return this.text.split(/(?<=\n)/).filter((line) => line !== "")
  }

  /** These lines, and two more. */
  write(lines: readonly string[]): void {
    const more = [++this.#count, ++this.#count].map((n) => {
      const uuid = `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`
      const message = { role: "user", content: `prompt number ${n}` }
      const time = new Date(n * 1000).toISOString()
      return `${JSON.stringify({ type: "user", uuid, parentUuid: null, sessionId: "one", timestamp: time, cwd: "/", message })}\n`
    })
    mkdirSync(dirname(this.path), { recursive: true })
    writeFileSync(this.path, [...lines, ...more].join(""))
  }

  hook(vault: Step[1]): void {
    const options = { now: ++this.#now, deadline: Number.POSITIVE_INFINITY, lastLine: "whole" } as const
    const { dataHome } = this.paths
    if (vault === "writable") captureTranscript(this.#place, this.path, options)
    else {
      if (vault === "closed") renameSync(dataHome, `${dataHome}.away`)
      takeToSpool(this.paths, this.path, options, new Error("read-only"))
      if (vault === "closed") renameSync(`${dataHome}.away`, dataHome)
    }
    if (this.text !== "" && this.seen.at(-1) !== this.text) this.seen.push(this.text)
  }

  step([edit, vault]: Step): void {
    EDITS[edit](this)
    this.hook(vault)
  }

  drain(): void {
    expect(drainSpool(this.paths, Number.POSITIVE_INFINITY)?.left ?? []).toEqual([])
    expect(existingSpools(this.paths)).toEqual([])
  }

  get versions(): string[] {
    const { dataHome } = this.paths
    const all = vaultFiles(dataHome).map(({ copy }) => contentOf(vaultFile(dataHome, copy)))
    // The copy of an empty transcript has a header only.
    return all.filter((text) => text !== "")
  }

  expectWhole(): void {
    const { versions } = this
    // Nothing is missing, and each version is one that there was, and there once.
    for (const text of this.seen) expect(versions.some((version) => version.startsWith(text))).toBe(true)
    for (const version of versions) expect(this.seen).toContain(version)
    expect(new Set(versions).size).toBe(versions.length)
    const { transcripts } = verify({ dataHome: this.paths.dataHome, home: this.paths.home, transcripts: [] })
    expect(transcripts.filter(({ problems }) => problems.length > 0)).toEqual([])
    catchUp(this.archive.db, this.paths.dataHome, Number.POSITIVE_INFINITY)
    const rows = this.archive.db.query<{ prompt: string }, []>("SELECT prompt FROM turns").all()
    const said = new Set(this.seen.flatMap((text) => text.match(/prompt number \d+/g) ?? []))
    expect(rows.map(({ prompt }) => prompt).sort()).toEqual([...said].sort())
  }

  [Symbol.dispose](): void {
    this.archive[Symbol.dispose]()
  }
}

const contentOf = (file: string): string => {
  expect(checkCopy(file, undefined)).toMatchObject({ damage: [], halfFrame: 0 })
  return Bun.zstdDecompressSync(readFileSync(file)).toString()
}

const steps = Object.keys(EDITS).flatMap((edit) => VAULTS.map((vault) => [edit, vault] as Step))

/**
 * Stories of three hooks, the second of which sees this edit; those in which nothing is spooled are other tests' matter.
 * As long as nothing is archived, a vault that can be read is like one that is closed.
 */
const stories = (first: "writable" | "closed", edit: string): Step[][] =>
  steps
    .filter(([second]) => second === edit)
    .flatMap((second) => steps.map((third): Step[] => [["grown", first], second, third]))
    .filter((story) => story.some(([, vault]) => vault !== "writable"))

function play(story: readonly Step[], afterEach: (world: World) => void): string[] {
  using world = new World()
  try {
    for (const step of story) {
      world.step(step)
      afterEach(world)
    }
    world.drain()
    world.hook("writable")
    world.expectWhole()
    return []
  } catch (error) {
    return [`${story.map((step) => step.join(" while ")).join(", then ")}: ${error}`]
  }
}

describe.each(Object.keys(EDITS))("every story of three hooks, the second after it was %s", (edit) => {
  test.each(["writable", "closed"] as const)("drained at the end; first, the vault was %s", (first) => {
    expect(stories(first, edit).flatMap((story) => play(story, () => {}))).toEqual([])
  })

  test("drained after each hook", () => {
    const failed = stories("writable", edit).flatMap((story) => play(story, (world) => world.drain()))
    expect(failed).toEqual([])
  })
})

describe("a transcript to which the host went back while its end was spooled", () => {
  /** Archives A, spools B, and archives A and C: only the piece knows B. */
  function wentBack() {
    const world = new World()
    // Frames that can be told apart: the part that both versions share has several.
    for (let n = 0; n < 3; n++) world.step(["grown", "writable"])
    const { lines } = world
    world.step(["grown", "readable"])
    const before = world.text
    world.write(lines)
    world.hook("writable")
    const [folder = ""] = existingSpools(world.paths)
    const piece = vaultFile(folder, vaultFiles(folder)[0]!.copy)
    return { world, folder, piece, before }
  }

  test("is whole again beside the current one, as old as that, and indexed before the piece is deleted", () => {
    const { world, before } = wentBack()
    using _ = world
    const { dataHome } = world.paths
    world.drain()
    const [current, former] = vaultFiles(dataHome).map(({ copy }) => vaultFile(dataHome, copy))
    expect(contentOf(former!)).toBe(before)
    expect(contentOf(current!)).toBe(world.text)
    expect(tailOf(former!)?.header.created).toBe(tailOf(current!)!.header.created)
    expect(listPending(dataHome).map(({ copy }) => vaultFile(dataHome, copy))).toContain(former!)
    world.expectWhole()
  })

  test("nothing is lost or there twice, wherever a process was killed that moved it", () => {
    const ends: number[] = []
    for (let n = 0; n === 0 || n <= ends.length; n++) {
      const { world, folder, piece, before } = wentBack()
      using _ = world
      const { dataHome } = world.paths
      const bytes = readFileSync(piece)
      world.drain()
      const former = vaultFile(dataHome, vaultFiles(dataHome)[1]!.copy)
      // What it had written when it was killed: nothing, half a header or frame, or whole ones; and the piece.
      if (n === 0) ends.push(...cutsOf(former))
      truncateSync(former, ends[n - 1] ?? 0)
      prepareSpool(folder)
      mkdirSync(dirname(piece), { recursive: true })
      writeFileSync(piece, bytes)
      world.drain()
      world.expectWhole()
      expect(world.versions).toContain(before)
    }
    expect(ends.length).toBeGreaterThan(10)
  })

  test("two ways that it went are two versions", () => {
    using world = new World()
    world.step(["grown", "writable"])
    const { lines } = world
    for (let n = 0; n < 3; n++) {
      world.write(lines)
      world.hook("readable")
    }
    const current = world.text
    rmSync(world.path)
    world.drain()
    world.expectWhole()
    // The last of them is what the transcript was when it was deleted.
    expect(contentOf(vaultFile(world.paths.dataHome, "home/-project/one.jsonl.zst"))).toBe(current)
    expect(world.versions).toHaveLength(3)
  })

  test("a text in it can be forgotten", () => {
    const { world } = wentBack()
    using _ = world
    world.drain()
    world.archive.db.close()
    const { dataHome } = world.paths
    const word = /prompt number 8/
    expect(world.versions.some((text) => word.test(text))).toBe(true)
    const finder = textFinder("prompt number 8")
    const look = () => findText(dataHome, () => finder, { now: 1 })
    expect(look().places).toBe(1)
    forget(dataHome, () => look().tombstones, { wait: 0, matches: (one) => finder(one).length > 0 })
    expect(world.versions.some((text) => word.test(text))).toBe(false)
  })

  test("does not bring back what was forgotten in the part that both versions share", () => {
    const { world } = wentBack()
    using _ = world
    world.archive.db.close()
    const { dataHome } = world.paths
    const finder = textFinder("prompt number 2")
    forget(dataHome, () => findText(dataHome, () => finder, { now: 1 }).tombstones, { wait: 0 })
    world.drain()
    expect(world.versions.join("")).not.toContain("prompt number 2")
  })
})

/** Before, within and after the header, each frame and each note. */
function cutsOf(file: string): number[] {
  const fd = openSync(file, "r")
  try {
    const tail = readTail(fd)!
    const edges = [...segmentsBackwards(fd, tail)].flatMap((one) => [
      one.position,
      one.position + one.frameLength,
      behind(one),
    ])
    const whole = [...new Set([tail.headerLength, ...edges])].sort((a, b) => a - b)
    return [0, ...whole.flatMap((end) => [end - 3, end])]
  } finally {
    closeSync(fd)
  }
}
