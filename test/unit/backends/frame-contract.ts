/** What every store of frames does. Runs over a pair of them that see the same target, as two machines do. */
import { expect } from "bun:test"
import type { FrameStore, LineFills, VaultPiece } from "../../../src/backends/frame-store.ts"
import { dataFrame, frameContent, sha256 } from "../../../src/vault/frame.ts"
import { type SharedTarget, withTwoMachines } from "./with-two-machines.ts"

export type FrameTarget = SharedTarget<FrameStore>

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")

/** A piece of a transcript whose bytes are the text's. */
export function piece(text: string, about: Partial<VaultPiece> = {}): VaultPiece {
  const content = new TextEncoder().encode(text)
  const from = about.from ?? 0
  return {
    writer: "one",
    copy: "c0ffee00-0000",
    place: "home/-src-app/5e551011.jsonl.zst",
    path: "/home/ada/.claude/projects/-src-app/5e551011.jsonl",
    created: 1_700_000_000_000,
    session: "5e551011",
    folder: "/src/app",
    from,
    to: from + content.length,
    sha256: hex(sha256(content)),
    tailHash: "abc",
    time: 1_700_000_000_001,
    rules: 3,
    hidden: 0,
    frame: dataFrame(content),
    ...about,
  }
}

const textOf = ({ frame }: VaultPiece): string => new TextDecoder().decode(frameContent(frame))
const aboutOf = ({ frame: _, ...about }: VaultPiece) => about

/** @param isThere false: the tests are skipped, and say so */
export function frameContract(name: string, makeTarget: () => Promise<FrameTarget>, isThere = true): void {
  const check = withTwoMachines(name, makeTarget, isThere)

  check("an empty target has no frames", async (one) => {
    expect(await one.list()).toEqual([])
    expect(await one.get([piece("x")])).toEqual([])
    expect(await one.forgotten()).toEqual([])
    expect(await one.put([])).toEqual({ stored: 0, known: 0, refused: 0 })
  })

  check("what one machine puts, another one gets, byte for byte, in order", async (one, other) => {
    const first = piece('{"a":"größer 语言 \\u0000"}\n')
    const second = piece(`${"x".repeat(300_000)}\n`, { from: first.to })
    expect(await one.put([second, first])).toEqual({ stored: 2, known: 0, refused: 0 })
    expect(await other.list()).toEqual([first, second].map(aboutOf))
    expect(await other.get([first, second])).toEqual([first, second])
    expect((await other.get([second])).map(textOf)).toEqual([textOf(second)])
  })

  check("putting again changes nothing; the same copy of another machine is another", async (one, other) => {
    const its = piece("same\n")
    const others = { ...its, writer: "other" }
    expect(await one.put([its])).toMatchObject({ stored: 1 })
    expect(await one.put([its, its])).toEqual({ stored: 0, known: 2, refused: 0 })
    expect(await other.put([others])).toMatchObject({ stored: 1 })
    expect(await one.list("one")).toEqual([aboutOf(its)])
    expect(await one.list()).toEqual([its, others].map(aboutOf))
  })

  check("a copy that is dropped can be put anew, and nobody else's goes with it", async (one, other) => {
    const its = piece("with swordfish\n")
    const anew = piece("with *********\n")
    const others = { ...its, writer: "other" }
    const more = piece("another\n", { copy: "facade" })
    await one.put([its, more])
    await other.put([others])
    await one.drop([its.copy])
    expect(await one.list()).toEqual([more, others].map(aboutOf))
    expect(await one.put([anew])).toMatchObject({ stored: 1 })
    expect((await other.get([anew])).map(textOf)).toEqual(["with *********\n"])
  })

  check(
    "a forgotten session is gone for all, with its subagents, and refused from then on",
    async (one, other) => {
      const its = piece("a\n", { session: "gone" })
      const agent = piece("b\n", { session: "gone/worker", copy: "b" })
      const stays = piece("c\n", { session: "gone-not", copy: "c" })
      const others = { ...its, writer: "other" }
      await one.put([its, agent, stays])
      await other.put([others])
      await other.forget(["gone"])
      expect(await one.list()).toEqual([aboutOf(stays)])
      expect(await one.forgotten()).toEqual(["gone"])
      expect(await one.put([its, piece("d\n", { session: "gone/late", copy: "d" })])).toEqual({
        stored: 0,
        known: 0,
        refused: 2,
      })
      await other.forget(["gone"])
      expect(await other.forgotten()).toEqual(["gone"])
      expect(await other.list()).toEqual([aboutOf(stays)])
    },
  )

  check("text that was taken out is told to all, once, and grows", async (one, other) => {
    const fill = (lines: LineFills["lines"]): LineFills => ({ session: "5e551011", key: "k", lines })
    await one.forget([], [fill({ aa: [[1, 5]] })])
    await one.forget([], [fill({ aa: [[1, 5]] })])
    await other.forget(
      [],
      [
        fill({
          bb: [
            [0, 2],
            [4, 9],
          ],
        }),
      ],
    )
    const both = fill({
      aa: [[1, 5]],
      bb: [
        [0, 2],
        [4, 9],
      ],
    })
    expect(await one.fills()).toEqual([both])
    expect(await other.fills()).toEqual([both])
    expect(await one.forgotten()).toEqual([])
  })

  check("many at once come back as they were", async (one, other) => {
    let from = 0
    const all = Array.from({ length: 200 }, (_, n) => {
      const made = piece(`line ${n} ${"y".repeat(n * 7)}\n`, { from })
      from = made.to
      return made
    })
    for (let at = 0; at < all.length; at += 30) await one.put(all.slice(at, at + 30))
    const listed = await other.list()
    expect(listed).toEqual(all.map(aboutOf))
    expect((await other.get(listed)).map(textOf)).toEqual(all.map(textOf))
  })
}
