/** Constraints of the sessions that `/clear` ended before. */
import { describe, expect, test } from "bun:test"
import { copyFileSync } from "node:fs"
import { gather } from "../../../src/restore/gather.ts"
import { addClear } from "../../../src/views/queries/transcripts.ts"
import { Archive } from "../../support/archive.ts"

const constraintsOf = (archive: Archive, session: string): string[] =>
  gather(archive.db, session).constraints.map(({ text }) => text)

const said = (archive: Archive, session: string, prompt: string) =>
  archive.follow(archive.session(session).turn(prompt).flush())

describe("constraints of cleared sessions", () => {
  test("come after the session's own, the nearest first, each once", () => {
    using archive = new Archive()
    said(archive, "a", "Never touch the kiln. Always oil the hinge.")
    said(archive, "b", "Never open the window.")
    said(archive, "c", "Always oil the hinge.")
    addClear(archive.db, "b", "a")
    addClear(archive.db, "c", "b")
    expect(constraintsOf(archive, "c")).toEqual([
      "Always oil the hinge.",
      "Never open the window.",
      "Never touch the kiln.",
    ])
    // What was said in it is not continued.
    expect(gather(archive.db, "c").turns).toHaveLength(1)
    expect(constraintsOf(archive, "a")).toEqual(["Always oil the hinge.", "Never touch the kiln."])
  })

  test("however many there are", () => {
    using archive = new Archive()
    said(archive, "s0", "Never touch the kiln.")
    for (let n = 1; n <= 300; n++) addClear(archive.db, `s${n}`, `s${n - 1}`)
    said(archive, "s300", "Paint the door.")
    expect(constraintsOf(archive, "s300")).toEqual(["Never touch the kiln."])
  })

  test("in a circle", () => {
    using archive = new Archive()
    said(archive, "a", "Never touch the kiln.")
    said(archive, "b", "Never open the window.")
    addClear(archive.db, "b", "a")
    addClear(archive.db, "a", "b")
    addClear(archive.db, "a", "a")
    expect(constraintsOf(archive, "a")).toEqual(["Never touch the kiln.", "Never open the window."])
    expect(constraintsOf(archive, "b")).toEqual(["Never open the window.", "Never touch the kiln."])
  })

  test("with what a cleared fork shares with its origin, and what a fork's origin continues", () => {
    using archive = new Archive()
    said(archive, "old", "Never open the window.")
    const origin = archive.session("origin").turn("Never touch the kiln.").flush()
    const fork = archive.session("fork")
    archive.follow(origin)
    copyFileSync(origin.path, fork.path)
    archive.follow(origin.turn("Always oil the hinge.").flush())
    fork.backTo(origin.tip)
    archive.follow(fork.turn("Never lock the door.").flush())
    said(archive, "next", "Paint the door.")
    addClear(archive.db, "origin", "old")
    addClear(archive.db, "next", "fork")
    const ofFork = ["Never lock the door.", "Never touch the kiln.", "Never open the window."]
    expect(constraintsOf(archive, "fork")).toEqual(ofFork)
    expect(constraintsOf(archive, "next")).toEqual(ofFork)
  })
})
