/** How paths are written in a restore, and found in it. */
import { describe, expect, test } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import fc from "fast-check"
import { pathsIn } from "../../../src/record/facts.ts"
import { pack } from "../../../src/restore/complement.ts"
import { holderOf } from "../../../src/restore/receipt.ts"
import { Inside, run } from "../../support/inside.ts"
import { contextOf } from "../../support/machine.ts"

/** A file in a folder with blanks in its name was given back twice: as itself, and as what stands behind the last blank. */
describe("a file in a folder with blanks", () => {
  test("its path is told once and whole, and counted once", async () => {
    using machine = new Inside()
    const cwd = join(machine.root, "mein Projekt – été 项目")
    mkdirSync(cwd)
    const session = machine.session({ cwd })
    const input = { file_path: join(cwd, "src", "pärser.ts"), content: "see `src/lexer.ts`\n" }
    session.turn("Write the parser", [{ tool: "Write", input, output: "written" }]).flush()
    // The host shows it again, since it is there.
    mkdirSync(join(cwd, "src"))
    writeFileSync(input.file_path, "…")
    await machine.hook("stop", session)
    await machine.hook("pre-compact", session, { trigger: "manual" })
    const given = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
    expect(given).toContain("src/pärser.ts")
    expect(given).toContain("src/lexer.ts")
    expect(given).not.toContain("项目/src/pärser.ts`")
    session.boundary("manual").summary("A parser was written.").flush()
    await machine.hook("stop", session)
    const { code, stdout, stderr } = await run(["receipts", "--json", "--project", cwd], machine)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    const [receipt] = JSON.parse(stdout).receipts
    expect(receipt.kinds.path).toEqual({ before: 2, kept: 0, given: 2, lost: 0 })
  })
})

/**
 * Paths are told many on a line, as the words of a shell are. Behind one with blanks the next ones were put on the same line,
 * so that nobody could tell where it ends: `src/my notes.md lib/lexer.ts`.
 */
describe("names with blanks", () => {
  test("a path with blanks has a line of its own", async () => {
    using machine = new Inside()
    const session = machine.session()
    const names = ["lib/lexer.ts", "src/my notes.md", "src/parser.ts", "docs/ein Plan.md", "lib/token.ts"]
    // The host itself shows the last ones again.
    const latest = [1, 2, 3, 4, 5].map((n) => `shown${n}.ts`)
    const steps = [...names, ...latest].map((name) => ({
      tool: "Read",
      input: { file_path: `${machine.cwd}/${name}` },
      output: "1→text",
    }))
    session.turn("Look at all of it", steps).flush()
    await machine.hook("stop", session)
    await machine.hook("pre-compact", session, { trigger: "manual" })
    const given = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
    for (const name of names.filter((one) => one.includes(" "))) expect(given).toContain(`- \`${name}\`\n`)
    for (const name of names) expect(given).toContain(name)
    expect(await run(["verify"], { env: machine.env })).toMatchObject({ code: 0, stderr: "" })
  })

  test("each line is one name with blanks, or names without; none is lost where there is room", () => {
    const name = fc.oneof(
      fc.stringMatching(/^[a-z/]{1,30}$/),
      fc.stringMatching(/^[A-Z]{1,12}( [A-Z]{1,12}){1,3}$/),
    )
    fc.assert(
      fc.property(fc.uniqueArray(name, { maxLength: 30 }), (names) => {
        const found = [...pack(names, 100_000)].flatMap((line) => {
          const [, folder = "", words = ""] = /^- (?:in `(.*)`: )?`(.*)`$/.exec(line)!
          const told = /[A-Z]/.test(words) ? [words] : words.split(" ")
          return told.map((word) => folder + word)
        })
        expect(found.toSorted()).toEqual(names.toSorted())
      }),
      { numRuns: 200 },
    )
  })

  test("and never takes more room than there is", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 40 })), fc.nat(1000), (names, room) => {
        const lines = [
          ...pack(
            names.map((one) => one.replaceAll(/[`\p{C}<>&]/gu, "x")),
            room,
          ),
        ]
        expect(lines.reduce((sum, line) => sum + line.length + 1, 0)).toBeLessThanOrEqual(room)
      }),
      { numRuns: 200 },
    )
  })
})

/** A file with blanks in its name, in a folder that a restore tells once, was given back, and its receipt said that it was lost. */
test("paths are found as a restore tells them, with blanks or without", () => {
  const names = ["lexer.ts", "my notes.md", "parser.ts", "ein Plan.md"]
  const paths = names.map((name) => `/srv/app/a-long-folder/kiln/${name}`)
  const lines = [...pack(paths, 1000)]
  expect(lines).toContain("- in `/srv/app/a-long-folder/`: `kiln/my notes.md`")
  const holds = holderOf(lines.join("\n"))
  for (const path of paths) expect([path, holds("path", path)]).toEqual([path, true])
  for (const name of ["other.ts", "notes", "notes.md", "my notes.md lexer.ts"])
    expect([name, holds("path", `/srv/app/a-long-folder/kiln/${name}`)]).toEqual([name, false])
})

/** A file on Windows stood in the archive under two names, was not told from the session's folder, and `blame` missed it. */
describe("paths of Windows", () => {
  const CWD = "C:\\Users\\dev\\kiln"

  test("one file, however it is written", async () => {
    using machine = new Inside()
    const edit = (path: string) => ({
      tool: "Edit",
      input: { file_path: path, old_string: "a", new_string: "b" },
      output: "The file has been updated",
    })
    const session = machine.session({ cwd: CWD })
    session.turn("Close the door", [
      edit(`${CWD}\\src\\Door.cs`),
      edit("c:/Users/dev/kiln/src/Door.cs"),
      { tool: "Bash", input: { command: `cat '${CWD}\\src\\Shelf.cs'` }, output: "oak" },
      ...["a", "b", "c", "d"].map((name) => edit(`D:\\oven\\${name}.cs`)),
    ])
    await machine.hook("stop", session.flush())
    const given = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
    expect(given).toContain("- `src/Door.cs`: edited (ctx:")
    expect(given).toContain("- `D:/oven/d.cs`: edited (ctx:")
    const [, paths = ""] = given.split("## Paths\n")
    expect(paths).toStartWith("- `src/Shelf.cs`\n")
    const touched = async (...words: string[]) => {
      const { code, stdout, stderr } = await run(["blame", ...words, "--all-projects", "--json"], machine)
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
      return JSON.parse(stdout).found.map(({ path }: { path: string }) => path)
    }
    for (const typed of ["Door.cs", "src\\Door.cs", `${CWD}\\src\\Door.cs`, "c:/Users/dev/kiln/src/Door.cs"])
      expect(await touched(typed)).toEqual(["C:/Users/dev/kiln/src/Door.cs"])
  })

  test("in prose", () => {
    expect(pathsIn("see C:\\kiln\\Door.cs, and c:/kiln/Door.cs.")).toEqual(["C:/kiln/Door.cs"])
  })
})
