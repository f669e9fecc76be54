/** What keys, clicks and results make of the picker's state. */
import { describe, expect, test } from "bun:test"
import {
  FIRST_LIMIT,
  type PickerEffect,
  type PickerState,
  type Previewed,
} from "../../../../src/cli/picker/picker-state.ts"
import { updated } from "../../../../src/cli/picker/picker-update.ts"
import { lineWith, PICKER_KEYS } from "../../../../src/cli/picker/query-line.ts"
import { afterEvents, hit, key, nameOf, pickerState } from "../../../support/picker.ts"

const HITS = Array.from({ length: 40 }, (_, n) => hit(n))
const some = pickerState(HITS)

const effectsOf = (state: PickerState, name: string): readonly PickerEffect[] => updated(state, key(name))[1]

test("no key has two meanings", () => {
  const keys = PICKER_KEYS.flatMap((one) => one.keys)
  expect(keys.toSorted()).toEqual([...new Set(keys)].sort())
})

describe("keys for the turn", () => {
  test.each<[string, PickerEffect]>([
    ["enter", { do: "open", hits: [HITS[0]!] }],
    ["ctrl-o", { do: "resume", hit: HITS[0]! }],
    ["ctrl-y", { do: "copy", what: "handle", hits: [HITS[0]!] }],
    ["ctrl-x", { do: "copy", what: "command", hits: [HITS[0]!] }],
    ["ctrl-f", { do: "copy", what: "path", hits: [HITS[0]!] }],
    ["f2", { do: "export", hits: [HITS[0]!] }],
  ])("%s", (name, effect) => {
    expect(effectsOf(some, name)).toEqual([effect])
    expect(effectsOf(pickerState([]), name)).toEqual([])
    expect(effectsOf(pickerState(undefined), name)).toEqual([])
  })

  test.each([
    ["enter", "handle"],
    ["ctrl-o", "resume"],
    ["ctrl-y", "handle"],
    ["ctrl-x", "command"],
    ["ctrl-f", "path"],
    ["f2", "export"],
  ] as const)("%s prints, where the choice is printed", (name, what) => {
    expect(effectsOf(pickerState(HITS, { isPrinting: true }), name)).toEqual([
      { do: "print", what, hits: [HITS[0]!] },
    ])
  })

  test("the session is pinned, and its turn stays selected wherever the list then has it", () => {
    const third = afterEvents(some, key("down"), key("down"))
    const [asked, effects] = updated(third, key("f3"))
    expect(effects).toEqual([{ do: "pin", hit: HITS[2]! }, { do: "search" }])
    const found = { ...asked.found!, hits: [HITS[2]!, HITS[0]!, HITS[1]!] }
    const after = afterEvents(asked, { kind: "found", found })
    expect(after).toMatchObject({ selected: 0, kept: undefined })
    expect(afterEvents(after, key("down"), { kind: "found", found })).toMatchObject({ selected: 1 })
    expect(effectsOf(pickerState([]), "f3")).toEqual([])
  })

  test("marked turns are opened, exported and copied together; a command, a path and a session are one's", () => {
    const marked = afterEvents(
      some,
      key("down"),
      key("tab"),
      key("tab"),
      key("shift-tab"),
      key("up"),
      key("up"),
    )
    const hits = [HITS[1]!, HITS[2]!, HITS[3]!] as const
    // The third is the one that Shift-Tab was pressed on.
    expect([...marked.marked.keys()]).toEqual(hits.map(({ handle }) => handle))
    expect(marked.selected).toBe(0)
    expect(effectsOf(marked, "enter")).toEqual([{ do: "open", hits }])
    expect(effectsOf(marked, "f2")).toEqual([{ do: "export", hits }])
    expect(effectsOf(marked, "ctrl-y")).toEqual([{ do: "copy", what: "handle", hits }])
    expect(effectsOf(marked, "ctrl-x")).toEqual([{ do: "copy", what: "command", hits: [HITS[0]!] }])
    expect(effectsOf(marked, "ctrl-o")).toEqual([{ do: "resume", hit: HITS[0]! }])
    expect(effectsOf({ ...marked, isPrinting: true }, "enter")).toEqual([
      { do: "print", what: "handle", hits },
    ])
    // Another search leaves them marked, and a second Tab takes a mark off.
    const other = {
      kind: "found",
      found: { hits: HITS.slice(3), titles: new Map(), nameOf, more: false },
    } as const
    expect(effectsOf(afterEvents(marked, other, key("tab")), "enter")).toEqual([
      { do: "open", hits: [hits[0], hits[1]] },
    ])
    expect(afterEvents(pickerState([]), key("tab")).marked.size).toBe(0)
  })

  test("the shell that waits for the choice is not left", () => {
    expect(effectsOf(some, "ctrl-z")).toEqual([{ do: "suspend" }])
    expect(effectsOf(pickerState(HITS, { isPrinting: true }), "ctrl-z")).toEqual([])
  })
})

describe("filters", () => {
  const filtersAfter = (...names: readonly string[]) => afterEvents(some, ...names.map(key)).filters

  test("each key goes through its choices, and back to none", () => {
    expect(
      ["ctrl-r", "ctrl-r", "ctrl-r", "ctrl-r", "ctrl-r"].map(
        (_, n, all) => filtersAfter(...all.slice(0, n + 1)).role,
      ),
    ).toEqual(["human", "assistant", "tool", "claude-code", undefined])
    expect([1, 2, 3].map((n) => filtersAfter(...Array(n).fill("ctrl-t")).tool)).toEqual([
      "Bash",
      "Edit",
      undefined,
    ])
    expect([1, 2, 3, 4].map((n) => filtersAfter(...Array(n).fill("ctrl-s")).since)).toEqual([
      "1d",
      "7d",
      "30d",
      undefined,
    ])
    expect([1, 2].map((n) => filtersAfter(...Array(n).fill("ctrl-p")).isHere)).toEqual([true, false])
    expect([1, 2].map((n) => filtersAfter(...Array(n).fill("ctrl-e")).errors)).toEqual([true, false])
  })

  test("the tools are read when one is asked for, and that key is not lost", () => {
    const unread = pickerState(HITS, { tools: [] })
    expect(effectsOf(unread, "ctrl-t")).toEqual([{ do: "list-tools" }])
    expect(afterEvents(unread, { kind: "tools", tools: ["Bash", "Edit"] }).filters.tool).toBe("Bash")
    expect(afterEvents(unread, { kind: "tools", tools: [] }).filters.tool).toBeUndefined()
  })

  test("another filter is another search, from the first turn on", () => {
    const far = afterEvents(some, key("down"), key("down"), key("page-down"))
    expect(updated(far, key("ctrl-e"))).toMatchObject([
      { selected: 0, top: 0, scroll: 0 },
      [{ do: "search" }],
    ])
  })

  test("where nothing of the folder's project is archived, it says so", () => {
    expect(updated(pickerState(HITS, { here: undefined }), key("ctrl-p"))).toMatchObject([
      { told: "nothing of this folder's project is archived", filters: { isHere: false } },
      [],
    ])
  })
})

describe("the query", () => {
  test("what is typed is searched; what changes nothing is not", () => {
    expect(updated(some, { kind: "text", text: "parse" })).toMatchObject([
      { line: { text: "parse", cursor: 5 }, selected: 0 },
      [{ do: "search" }],
    ])
    expect(updated(some, key("backspace"))[1]).toEqual([])
  })

  test("? is help while nothing is typed, and a letter afterwards; any key leaves the help", () => {
    const asked = afterEvents(some, { kind: "text", text: "?" })
    expect(asked).toMatchObject({ isHelp: true, line: { text: "" } })
    expect(afterEvents(asked, key("enter"))).toMatchObject({ isHelp: false })
    const small = { ...asked, columns: 40, rows: 10 }
    expect(afterEvents(small, key("up"))).toMatchObject({ isHelp: true, helpTop: 0 })
    expect(afterEvents(small, key("down"), key("page-down"))).toMatchObject({ isHelp: true, helpTop: 9 })
    const ends = Array.from({ length: 20 }, () => key("page-down"))
    const end = afterEvents(small, ...ends)
    expect(end.helpTop).toBeGreaterThan(40)
    expect(afterEvents(end, key("down")).helpTop).toBe(end.helpTop)
    expect(afterEvents(end, key("esc"), key("f1"))).toMatchObject({ isHelp: true, helpTop: 0 })
    expect(updated(asked, key("ctrl-c"))[1]).toEqual([{ do: "quit" }])
    const typed = pickerState(HITS, { line: lineWith("why") })
    expect(afterEvents(typed, { kind: "text", text: "?" })).toMatchObject({
      isHelp: false,
      line: { text: "why?" },
    })
  })
})

describe("the list", () => {
  test("the selected turn stays visible, and the ends hold", () => {
    // 21 rows, two for each.
    const down = afterEvents(some, ...Array.from({ length: 30 }, () => key("down")))
    expect(down).toMatchObject({ selected: 30, top: 21 })
    expect(afterEvents(down, ...Array.from({ length: 15 }, () => key("up")))).toMatchObject({
      selected: 15,
      top: 15,
    })
    expect(afterEvents(down, ...Array.from({ length: 60 }, () => key("down")))).toMatchObject({
      selected: 39,
      top: 30,
    })
    expect(afterEvents(some, key("up"))).toMatchObject({ selected: 0, top: 0 })
    expect(afterEvents(down, { kind: "resized", columns: 120, rows: 50 })).toMatchObject({
      selected: 30,
      top: 17,
    })
  })

  test("at its end, more are asked for", () => {
    const full = { ...pickerState(HITS.slice(0, FIRST_LIMIT)), selected: FIRST_LIMIT - 1 }
    const more = { ...full, found: { hits: full.found!.hits, titles: new Map(), nameOf, more: true } }
    expect(updated(full, key("down"))[1]).toEqual([])
    expect(updated(more, key("down"))).toMatchObject([{ limit: FIRST_LIMIT * 4 }, [{ do: "search" }]])
  })

  test("fewer turns than before: the last of them is selected", () => {
    const far = afterEvents(some, ...Array.from({ length: 30 }, () => key("down")))
    expect(
      afterEvents(far, {
        kind: "found",
        found: { hits: HITS.slice(0, 3), titles: new Map(), nameOf, more: false },
      }),
    ).toMatchObject({
      selected: 2,
      top: 0,
    })
  })
})

test("what is found by meaning comes below the cursor, and nothing above it moves", () => {
  const joined = {
    hits: [HITS[30]!, HITS[2]!, HITS[1]!, HITS[31]!, HITS[0]!, HITS[3]!],
    titles: new Map(),
    nameOf,
    more: true,
  }
  const handlesAfter = (...names: string[]) => {
    const { found, selected } = afterEvents(some, ...names.map(key), { kind: "joined", found: joined })
    return [selected, ...found!.hits.map(({ handle }) => handle)]
  }
  const handles = (...of: number[]) => of.map((n) => HITS[n]!.handle)
  expect(handlesAfter()).toEqual([0, ...handles(0, 30, 2, 1, 31, 3)])
  expect(handlesAfter("down", "down")).toEqual([2, ...handles(0, 1, 2, 30, 31, 3)])
  expect(afterEvents(pickerState(undefined), { kind: "joined", found: joined }).found).toEqual(joined)
})

test("what kept a search from the archive is told until one succeeds", () => {
  const failed = afterEvents(some, { kind: "failed", problem: ["the archive is busy"] })
  expect(failed.problem).toEqual(["the archive is busy"])
  expect(
    afterEvents(failed, { kind: "found", found: { hits: HITS, titles: new Map(), nameOf, more: false } })
      .problem,
  ).toBeUndefined()
})

describe("the mouse", () => {
  const at = (action: "press" | "wheel-down" | "wheel-up", column: number, row: number) =>
    ({ kind: "mouse", action, column, row }) as const

  test("a click selects, a second one opens", () => {
    const clicked = afterEvents(some, at("press", 5, 7))
    expect(clicked.selected).toBe(2)
    expect(updated(clicked, at("press", 5, 6))[1]).toEqual([{ do: "open", hits: [HITS[2]!] }])
    expect(updated(pickerState(HITS.slice(0, 2)), at("press", 5, 20))).toMatchObject([{ selected: 0 }, []])
  })

  test("the wheel moves what it is over", () => {
    const text = Array.from({ length: 100 }, (_, n) => `line ${n}`).join("\n")
    const preview: Previewed = {
      handle: HITS[0]!.handle,
      turn: {
        started: null,
        prompt: { text, marks: [] },
        found: undefined,
        answer: { text: "", marks: [] },
        summary: {
          kind: "extract",
          request: null,
          decisions: [],
          folder: null,
          files: [],
          filesChanged: 0,
          outcome: null,
          results: [],
          said: null,
          todos: [],
        },
      },
    }
    const read = afterEvents(some, { kind: "previewed", preview })
    expect(afterEvents(read, at("wheel-down", 5, 5))).toMatchObject({ selected: 1, scroll: 0 })
    expect(afterEvents(read, at("wheel-down", 60, 5))).toMatchObject({ selected: 0, scroll: 3 })
    expect(afterEvents(read, at("wheel-up", 60, 5))).toMatchObject({ selected: 0, scroll: 0 })
    // Another turn's preview begins at its beginning, and none goes beyond its end.
    expect(afterEvents(read, key("page-down"), key("down"))).toMatchObject({ scroll: 0 })
    const end = afterEvents(read, ...Array.from({ length: 20 }, () => key("page-down")))
    expect(end.scroll).toBeGreaterThan(70)
    expect(end.scroll).toBeLessThan(100)
  })
})
