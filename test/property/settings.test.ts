import { expect, test } from "bun:test"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import fc from "fast-check"
import { HOST_EVENTS, hookCommand } from "../../src/claude/install/hooks-table.ts"
import { install, uninstall } from "../../src/claude/install/registration.ts"
import { addHooks, removeHooks } from "../../src/claude/install/settings-edit.ts"
import { resolvePlaces } from "../../src/config/load.ts"

const EXE = "/opt/ctxbridge"

const foreignHook = fc.record(
  { type: fc.constantFrom("command", "prompt"), command: fc.string(), timeout: fc.nat() },
  { requiredKeys: [] },
)
const foreignGroup = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ matcher: fc.string(), hooks: fc.array(foreignHook) }, { requiredKeys: ["hooks"] }),
  },
  { weight: 1, arbitrary: fc.jsonValue() },
)
const event = fc.oneof(fc.constantFrom<string>(...HOST_EVENTS), fc.string())
const hooks = fc.dictionary(event, fc.array(foreignGroup, { maxLength: 3 }), { maxKeys: 5 })
const others = fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 4 })

/** Settings as Claude Code accepts them, with `hooks` anywhere among the other keys. */
const settings = fc.tuple(others, fc.option(hooks), others).map(([before, own, after]) => {
  const { hooks: _, ...rest } = after
  return { ...before, hooks: undefined, ...(own === null ? {} : { hooks: own }), ...rest }
})
const rendering = fc.record({
  indent: fc.constantFrom("", " ", "  ", "    ", "\t", "        "),
  eol: fc.constantFrom("\n", "\r\n"),
  bom: fc.constantFrom("", "\uFEFF"),
  end: fc.constantFrom("", "\n", "\n\n"),
})
const text = fc.tuple(settings, rendering).map(([value, { indent, eol, bom, end }]) => {
  return `${bom}${(JSON.stringify(value, null, indent) + end).replaceAll("\n", eol)}`
})
const value = (source: string) => JSON.parse(source.replace(/^\uFEFF/, ""))

test("what is added and taken out again leaves no byte behind", () => {
  fc.assert(
    fc.property(text, (before) => {
      const { text: after, added, replaced } = addHooks(before, EXE)
      expect(added).toEqual([...HOST_EVENTS])
      expect(replaced).toEqual([])
      expect(removeHooks(after, before)).toEqual({ text: before, removed: expect.arrayContaining(added) })
    }),
    { numRuns: 200 },
  )
})

test("adding is inserting: the old text is what is left without the new", () => {
  fc.assert(
    fc.property(text, (before) => {
      const after = addHooks(before, EXE).text
      // A subsequence in order, so no byte of the old text was changed or moved.
      let at = 0
      for (const character of after) if (character === before[at]) at++
      expect(at).toBe(before.length)
      const was = value(before)
      const is = value(after)
      expect({ ...is, hooks: null }).toEqual({ ...was, hooks: null })
      for (const [name, groups] of Object.entries(was.hooks ?? {})) {
        expect(is.hooks[name].slice(0, (groups as unknown[]).length)).toEqual(groups)
      }
      for (const name of HOST_EVENTS) {
        const hook = {
          type: "command",
          command: hookCommand(EXE, name),
          timeout: 5,
          statusMessage: "ctxbridge",
        }
        expect(is.hooks[name].at(-1)).toEqual({ hooks: [hook] })
      }
    }),
    { numRuns: 500 },
  )
})

test("adding twice is adding once, from whatever binary", () => {
  const path = fc.string().map((folder) => `/${folder.replaceAll("\0", "")}/ctxbridge`)
  fc.assert(
    fc.property(text, path, (before, elsewhere) => {
      const once = addHooks(before, EXE).text
      expect(addHooks(once, EXE)).toEqual({ text: once, added: [], replaced: [] })
      expect(addHooks(addHooks(before, elsewhere).text, EXE).text).toBe(once)
    }),
    { numRuns: 300 },
  )
})

test("uninstall after install restores every byte, or the value where someone has edited in between", () => {
  const root = mkdtempSync(join(tmpdir(), "ctxbridge-property-"))
  const options = {
    ...resolvePlaces({ HOME: root, CTXBRIDGE_HOME: join(root, "data") }),
    scope: "project",
    cwd: root,
    exePath: EXE,
  } as const
  const file = join(root, ".claude", "settings.json")
  mkdirSync(join(root, ".claude"))
  const loose = text.map((source) => source.replaceAll(/^(\uFEFF?\{)/g, "$1 \r\n\t"))
  fc.assert(
    fc.property(fc.oneof(text, loose), rendering, (before, other) => {
      writeFileSync(file, before)
      expect(install(options).changed).toBe(true)
      expect(uninstall(options).action).toBe("restored")
      expect(readFileSync(file, "utf8")).toBe(before)

      install(options)
      // Claude Code writes the whole file anew, with a key of its own.
      const edited = JSON.stringify(
        { ...value(readFileSync(file, "utf8")), edited: true },
        null,
        other.indent,
      )
      writeFileSync(file, edited)
      expect(uninstall(options).action).toBe("edited")
      expect(value(readFileSync(file, "utf8"))).toEqual({ ...value(before), edited: true })
      expect(existsSync(join(root, "data", "install"))).toBe(false)
    }),
    { numRuns: 60 },
  )
  rmSync(root, { recursive: true })
})

test("any text is either edited into valid settings or refused with a place", () => {
  const mutated = fc.tuple(
    text,
    fc.nat(),
    fc.constantFrom("", ",", "}", "]", '"', "//", "/**/", "1", "\\", "{"),
  )
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        mutated.map(([source, at, extra]) => {
          const cut = at % (source.length + 1)
          return source.slice(0, cut) + extra + source.slice(cut + 1)
        }),
      ),
      (source) => {
        let host: unknown
        try {
          host = value(source)
        } catch {
          host = undefined
        }
        try {
          const after = value(addHooks(source, EXE).text)
          expect(Object.keys(after.hooks)).toEqual(expect.arrayContaining([...HOST_EVENTS]))
          if (source.replace(/^\uFEFF/, "").trim() !== "") expect(host).toBeObject()
        } catch (error) {
          expect(["settings-syntax", "settings-shape"]).toContain((error as { code: string }).code)
          if ((error as { code: string }).code === "settings-syntax") expect(host).toBeUndefined()
        }
      },
    ),
    { numRuns: 1000 },
  )
})
