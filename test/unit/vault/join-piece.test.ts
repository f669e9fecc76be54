/** A piece of the spool and the copy that it belongs to, in every position to each other. */
import { afterAll, describe, expect, test } from "bun:test"
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { capture } from "../../../src/vault/capture.ts"
import { checkCopy } from "../../../src/vault/check-copy.ts"
import { supersededPath } from "../../../src/vault/layout.ts"
import type { Forgotten } from "../../../src/vault/tombstones.ts"
import { joinPiece } from "../../../src/views/drain-spool.ts"
import { captureToSpool } from "../../../src/views/spool.ts"

const root = mkdtempSync(join(tmpdir(), "ctxbridge-join-"))
afterAll(() => rmSync(root, { recursive: true, force: true }))

let count = 0

/** One transcript, its copy and a place of the spool. */
class Scene {
  readonly folder = join(root, String(++count))
  readonly transcript = join(this.folder, "t.jsonl")
  readonly copy = join(this.folder, "data", "vault", "t.jsonl.zst")
  readonly spools = [join(this.folder, "one", "spool", "k"), join(this.folder, "two", "spool", "k")]
  forgotten: Forgotten | undefined
  /** What the views were told to look at. */
  readonly grown: string[] = []
  #lines = 0
  #time = 1000

  constructor() {
    mkdirSync(this.folder)
  }

  write(lines: number): this {
    for (let n = 0; n < lines; n++) appendFileSync(this.transcript, `{"n":${this.#lines++}}\n`)
    return this
  }

  rewrite(lines: number): this {
    rmSync(this.transcript)
    this.#lines += 1000
    return this.write(lines)
  }

  get request() {
    const now = ++this.#time
    const { transcript, copy } = this
    return { transcript, copy, now, deadline: performance.now() + 10_000, lastLine: "whole" as const }
  }

  archive(): this {
    capture(this.request)
    return this
  }

  spool(folders = this.spools): this {
    captureToSpool(this.request, "t.jsonl.zst", folders)
    return this
  }

  piece(n = 0): string {
    return join(this.spools[n]!, "vault", "t.jsonl.zst")
  }

  join(piece = this.piece()) {
    return joinPiece(
      piece,
      this.copy,
      performance.now() + 10_000,
      () => this.forgotten,
      (file) => this.grown.push(file),
    )
  }

  get text(): string {
    return readFileSync(this.transcript, "utf8")
  }
}

const contentOf = (file: string): string => Bun.zstdDecompressSync(readFileSync(file)).toString()

function expectWhole(scene: Scene, file = scene.copy, text = scene.text): void {
  expect(contentOf(file)).toBe(text)
  expect(checkCopy(file, undefined)).toMatchObject({ damage: [], halfFrame: 0, archived: text.length })
}

describe("a piece", () => {
  test("holds only what the copy does not hold", () => {
    const scene = new Scene().write(3).archive()
    const before = scene.text.length
    scene.write(2).spool()
    expect(contentOf(scene.piece())).toBe(scene.text.slice(before))
    expect(scene.join()).toBe("joined")
    expectWhole(scene)
    expect(existsSync(scene.piece())).toBe(false)
  })

  test("grows, and nothing is spooled twice", () => {
    const scene = new Scene().write(3).spool().write(1).spool()
    const { size } = statSync(scene.piece())
    scene.spool()
    expect(statSync(scene.piece()).size).toBe(size)
    expect(scene.join()).toBe("joined")
    expectWhole(scene)
  })

  test("goes on from a piece in another place, and waits for that", () => {
    const scene = new Scene().write(2).archive().write(2).spool()
    // The first place has become useless.
    const between = scene.text.length
    chmodSync(scene.spools[0]!, 0o755)
    scene.write(2).spool()
    expect(contentOf(scene.piece(1))).toBe(scene.text.slice(between))
    expect(scene.join(scene.piece(1))).toBe("gap")
    expect(existsSync(scene.piece(1))).toBe(true)
    expect(scene.join()).toBe("joined")
    expect(scene.join(scene.piece(1))).toBe("joined")
    expectWhole(scene)
  })

  test("meets a copy that has grown meanwhile: in part, or beyond it", () => {
    const scene = new Scene().write(3).archive().write(4).spool()
    const whole = scene.text
    writeFileSync(scene.transcript, whole.slice(0, -8))
    scene.archive()
    writeFileSync(scene.transcript, whole)
    expect(scene.join()).toBe("joined")
    expectWhole(scene)
    scene.write(1).spool().write(1).archive()
    expect(scene.join()).toBe("joined")
    expectWhole(scene)
  })

  test("whose copy could not be read begins at 0 and is found to be the same transcript", () => {
    const scene = new Scene().write(3).archive()
    const aside = `${scene.copy}.aside`
    renameSync(scene.copy, aside)
    scene.write(2).spool()
    expect(contentOf(scene.piece())).toBe(scene.text)
    renameSync(aside, scene.copy)
    expect(scene.join()).toBe("joined")
    expectWhole(scene)
    expect(existsSync(supersededPath(scene.copy, 1))).toBe(false)
  })
})

describe("a transcript that the host has rewritten", () => {
  test("while it was spooled: both versions are kept, in their order", () => {
    const scene = new Scene().write(3).archive().write(1).spool()
    const before = scene.text
    scene.rewrite(2).spool()
    expect(scene.join(supersededPath(scene.piece(), 1))).toBe("joined")
    expect(scene.join()).toBe("joined")
    expectWhole(scene, supersededPath(scene.copy, 1), before)
    expectWhole(scene)
  })

  test("and archived anew before the piece could move over: the piece completes what was", () => {
    const scene = new Scene().write(3).archive().write(1).spool()
    const before = scene.text
    scene.rewrite(2).archive()
    expect(scene.join()).toBe("joined")
    expectWhole(scene, supersededPath(scene.copy, 1), before)
    expectWhole(scene)
  })

  test("of which only the piece knows what it was: it is kept beside the newer copy", () => {
    const scene = new Scene().write(3).spool()
    const before = scene.text
    scene.rewrite(2).archive()
    expect(scene.join()).toBe("joined")
    expectWhole(scene, supersededPath(scene.copy, 1), before)
    expectWhole(scene)
  })
})

test("a copy that makes room for another version is one for the views to look at, too", () => {
  const scene = new Scene().write(3).archive()
  const before = scene.text
  scene.rewrite(2).spool()
  expect(scene.join()).toBe("joined")
  expect(scene.grown).toEqual([supersededPath(scene.copy, 1), scene.copy])
  expectWhole(scene, supersededPath(scene.copy, 1), before)
  expectWhole(scene)
})

describe("what cannot be joined stays", () => {
  test("the copy before it is gone", () => {
    const scene = new Scene().write(3).archive().write(1).spool()
    rmSync(scene.copy)
    expect(scene.join()).toBe("gap")
    expect(existsSync(scene.piece())).toBe(true)
    // The transcript has it all: then the piece is superfluous.
    scene.archive()
    expect(scene.join()).toBe("joined")
    expectWhole(scene)
  })

  test("a damaged piece", () => {
    const scene = new Scene().write(3).archive()
    const before = scene.text
    scene.write(50).spool()
    const bytes = readFileSync(scene.piece())
    bytes[bytes.length - 150]! ^= 0xff
    writeFileSync(scene.piece(), bytes)
    expect(() => scene.join()).toThrow()
    expect(readFileSync(scene.piece()).equals(bytes)).toBe(true)
    expectWhole(scene, scene.copy, before)
  })

  test("somebody else's file", () => {
    const scene = new Scene().write(1).spool()
    writeFileSync(scene.piece(), "this is no piece of ours, and long enough")
    expect(scene.join()).toBe("gap")
  })

  test("but half a header holds nothing", () => {
    for (const length of [0, 6, 40]) {
      const scene = new Scene().write(1).spool()
      truncateSync(scene.piece(), length)
      expect(scene.join()).toBe("joined")
      expect(existsSync(scene.piece())).toBe(false)
      expect(existsSync(scene.copy)).toBe(false)
    }
  })
})

describe("what was forgotten meanwhile", () => {
  test("as a whole: the piece goes, and nothing comes back", () => {
    const scene = new Scene().write(3).spool()
    scene.forgotten = { whole: true, edit: (content) => content }
    expect(scene.join()).toBe("joined")
    expect(existsSync(scene.piece())).toBe(false)
    expect(existsSync(scene.copy)).toBe(false)
  })

  test("in part: it is taken out on the way", () => {
    const scene = new Scene().write(2).archive().write(3).spool()
    const edit = (content: Uint8Array): Uint8Array =>
      Buffer.from(Buffer.from(content).toString().replaceAll("3", "*"))
    scene.forgotten = { whole: false, edit }
    expect(scene.join()).toBe("joined")
    expectWhole(scene, scene.copy, scene.text.replaceAll("3", "*"))
    capture({ ...scene.write(1).request, forgotten: () => scene.forgotten })
    expectWhole(scene, scene.copy, scene.text.replaceAll("3", "*"))
  })
})
