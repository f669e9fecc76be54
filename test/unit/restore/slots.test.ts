/** What of a restore may be left out by chance, and what is kept of what it showed. */
import { expect, test } from "bun:test"
import type { Fact, Facts } from "../../../src/restore/material.ts"
import { restoreOf } from "../../../src/restore/restore.ts"
import { cellOf, heldOut, markOf } from "../../../src/restore/slots.ts"
import { Archive } from "../../support/archive.ts"

const many = (beginning: string, more: Partial<Fact> = {}): Fact[] =>
  Array.from({ length: 1000 }, (_, n) => ({ text: `${beginning}${n}`, ...more }))
const FACTS: Facts = {
  paths: many("src/a"),
  commands: [...many("make "), ...many("false ", { exit: "Exit code 1" })],
  names: many("someName"),
  errors: many("error: "),
}

test("a share of paths, names and commands, by chance, always the same for the same restore", () => {
  const out = heldOut(FACTS, 0.1, "s1 100")
  expect(out.size).toBeGreaterThan(240)
  expect(out.size).toBeLessThan(360)
  expect([...heldOut(FACTS, 0.1, "s1 100")]).toEqual([...out])
  const other = heldOut(FACTS, 0.1, "s1 200")
  expect([...other].filter((fact) => out.has(fact)).length).toBeLessThan(out.size / 2)
  expect(heldOut(FACTS, 0, "s1 100").size).toBe(0)
})

test("never an error, nor a command that failed last", () => {
  const out = heldOut(FACTS, 0.5, "s1 100")
  expect([...out].filter(({ text, exit }) => text.startsWith("error") || exit !== undefined)).toEqual([])
})

test("what is known of a fact, in words", () => {
  expect(cellOf({ mark: markOf("path", "src/a.ts", { edited: true }), times: 7, age: 3 })).toBe(
    "edited, often, new",
  )
  expect(cellOf({ mark: markOf("name", "fireKiln", { seen: true }), times: 1, age: 90 })).toBe(
    "seen, once, old",
  )
  expect(markOf("command", "ls -la", {})).toBe("common")
  expect(markOf("command", "make glaze", {})).toBe("run")
  expect(markOf("command", "make glaze", { failed: true })).toBe("failed")
})

test("what a restore shows and leaves out is known: both are in none of the other's", () => {
  using archive = new Archive()
  const session = archive.session("s1", { cwd: "/srv/app" })
  session.turn("never touch src/rules.ts\nread them", [
    ...Array.from({ length: 60 }, (_, n) => ({
      tool: "Read",
      input: { file_path: `/srv/app/src/area${n % 5}/part/file${n}.ts` },
      output: "…",
    })),
    { tool: "Bash", input: { command: "make glaze" }, output: "ok" },
  ])
  archive.follow(session.flush())
  const options = { source: "compact", budget: 4000, summary: "" } as const
  const whole = restoreOf(archive.db, "s1", { ...options, learning: { holdOut: 0 } })
  expect(whole.text).toBe(restoreOf(archive.db, "s1", options).text)
  expect(whole.slots!.every(({ shown }) => shown)).toBe(true)
  const paths = whole.slots!.filter(({ kind }) => kind === "path").map(({ text }) => text)
  expect(paths.length).toBeGreaterThan(15)
  const { text, slots } = restoreOf(archive.db, "s1", { ...options, learning: { holdOut: 0.3 } })
  const out = slots!.filter(({ shown }) => !shown)
  expect(out.length).toBeGreaterThan(0)
  for (const slot of out) {
    expect(whole.slots!.map((one) => one.text)).toContain(slot.text)
    expect(text).not.toContain(slot.text.split("/").slice(-2).join("/"))
  }
  expect(text).toContain("never touch src/rules.ts")
  expect(restoreOf(archive.db, "s1", { ...options, learning: { holdOut: 0.3 } }).text).toBe(text)
})

test("nothing is left out for a host that does not tell what has arrived", () => {
  using archive = new Archive()
  for (const version of ["2.1.112", "2.1.0"]) {
    const session = archive.session(version, { cwd: "/srv/app", version })
    const reads = Array.from({ length: 60 }, (_, n) => ({
      tool: "Read",
      input: { file_path: `/srv/app/src/area${n % 5}/part/file${n}.ts` },
      output: "…",
    }))
    archive.follow(session.turn("read them", reads).flush())
  }
  const options = { source: "compact", budget: 4000, summary: "", learning: { holdOut: 0.5 } } as const
  const leftOut = (id: string): number =>
    restoreOf(archive.db, id, options).slots!.filter(({ shown }) => !shown).length
  expect(leftOut("2.1.112")).toBeGreaterThan(0)
  expect(leftOut("2.1.0")).toBe(0)
})
